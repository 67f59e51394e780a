//! The table of options: the options of a command in a release line, and whether they take a value.

mod foreign;
mod own;
mod placing;
mod row;
mod table;

use std::sync::OnceLock;

use crate::release::Release;
use placing::PLACING;
use row::Variable;
use table::OTHERS;

pub use foreign::{Foreign, all_foreign, foreign};
pub use own::{Choice, Own, OwnOption};
pub(crate) use row::Effect;
pub use row::{Row, Value, nearest, values};

/// The variable that names a file of hosts; no option sets it.
pub const HOST_FILE: &str = "SLURM_HOSTFILE";

/// A command of Slurm that reads this table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// srun.
    Srun,
    /// sbatch, and the `#SBATCH` lines of a script.
    Sbatch,
    /// salloc.
    Salloc,
}

impl Command {
    /// The command that a program's name stands for: in any folder, and with an ending, as sites
    /// give it to the original behind a wrapper.
    #[must_use]
    pub fn named(program: &str) -> Option<Self> {
        let name = program.rsplit('/').next()?;
        match name.split(['.', '-', '_']).next()? {
            "srun" => Some(Self::Srun),
            "sbatch" => Some(Self::Sbatch),
            "salloc" => Some(Self::Salloc),
            _ => None,
        }
    }

    /// Its name, as it is typed.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Srun => "srun",
            Self::Sbatch => "sbatch",
            Self::Salloc => "salloc",
        }
    }

    const fn bit(self) -> u8 {
        match self {
            Self::Srun => SRUN,
            Self::Sbatch => SBATCH,
            Self::Salloc => SALLOC,
        }
    }
}

/// The value that follows an option's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// No value.
    Nothing,
    /// A value: attached, after `=`, or the next word.
    Value,
    /// A value or none; the next word is never the value.
    Attached,
}

const SRUN: u8 = 1;
const SBATCH: u8 = 2;
const SALLOC: u8 = 4;
const SRUN_SBATCH: u8 = SRUN | SBATCH;
const SRUN_SALLOC: u8 = SRUN | SALLOC;
const SBATCH_SALLOC: u8 = SBATCH | SALLOC;
const ALL: u8 = SRUN | SBATCH | SALLOC;

/// Every option by the name as it is typed; the forms of one option stand beside each other.
fn rows() -> &'static [Row] {
    static ROWS: OnceLock<Vec<Row>> = OnceLock::new();
    ROWS.get_or_init(|| {
        let mut rows = [PLACING, OTHERS].concat();
        rows.extend(Own::ALL.map(|own| *own.row()));
        let alias = |row: &Row| {
            let typed = row.alias?;
            let stands_for = Some(row.typed);
            Some(Row {
                typed,
                stands_for,
                ..*row
            })
        };
        rows.extend(rows.iter().filter_map(alias).collect::<Vec<_>>());
        rows.sort_by_key(|row| row.typed);
        rows
    })
}

/// The options of Slurm's that help shows, in its order.
pub fn placing() -> impl Iterator<Item = &'static Row> {
    PLACING.iter()
}

/// The options of a command in a release line; without one the newest form of every option that
/// any line has.
pub fn of(command: Command, release: Option<Release>) -> impl Iterator<Item = &'static Row> {
    beginning(command, release, "")
}

/// Those whose names begin so.
fn beginning(
    command: Command,
    release: Option<Release>,
    name: &str,
) -> impl Iterator<Item = &'static Row> {
    let rows = rows();
    let from = rows.partition_point(|row| row.typed < name);
    let rows = rows.get(from..).unwrap_or_default();
    let rows = rows
        .iter()
        .take_while(move |row| row.typed.starts_with(name));
    let mut all = rows
        .filter(move |row| row.is_in(command, release))
        .peekable();
    std::iter::from_fn(move || {
        let mut newest = all.next()?;
        while let Some(other) = all.next_if(|other| other.typed == newest.typed) {
            newest = if other.since > newest.since {
                other
            } else {
                newest
            };
        }
        Some(newest)
    })
}

/// The option of that name, which stands for no other one.
fn named(name: &str) -> Option<&'static Row> {
    let rows = rows();
    let at = rows.partition_point(|row| row.typed < name);
    rows.get(at).filter(|row| row.typed == name)
}

/// Whether an option changes which nodes and cores a job or step gets.
pub(crate) fn effect(name: &str) -> Effect {
    named(name).map_or(Effect::Nothing, |row| row.effect)
}

/// The options with which a job may have more cores than tasks × `-c`.
pub(crate) fn growing() -> impl Iterator<Item = &'static str> {
    rows().iter().filter(|row| row.grows).map(|row| row.typed)
}

/// The variables that a command of a release reads, in its order, each with the long name of its option.
/// `SLURM_HOSTFILE` stands for no option: it names a file of hosts.
pub fn variables(
    command: Command,
    release: Release,
) -> impl Iterator<Item = (&'static str, &'static str)> {
    static ALL: OnceLock<Vec<(&Variable, &Row)>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let options = rows().iter().filter(|row| row.stands_for.is_none());
        let mut all: Vec<_> = options
            .flat_map(|row| row.variables.iter().map(move |one| (one, row)))
            .collect();
        // Behind the command's name they are sorted.
        all.sort_by_key(|(one, _)| one.name.split_once('_').map(|(_, rest)| rest));
        all
    });
    let host_file = (command == Command::Srun).then_some((HOST_FILE, HOST_FILE));
    let all = all.iter().filter(move |(one, row)| {
        one.is_read_by(command, release) && row.is_in(command, Some(release))
    });
    all.map(|(one, row)| (one.name, row.typed)).chain(host_file)
}

/// The variable by which a step takes an option over from its job; none if it does not.
#[must_use]
pub fn passed_by(name: &str, release: Release) -> Option<&'static str> {
    named(name)?.passed_by(release)
}

/// Options beside which the command of a job drops its `--hint` (`validate_hint_option`).
#[must_use]
pub fn drops_hint(option: &str) -> bool {
    ["ntasks-per-core", "threads-per-core", "extra-node-info"].contains(&option)
}

/// The meaning of a long name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// An option, in full or by an abbreviation that only it has.
    Option(&'static Row),
    /// An abbreviation of several.
    Ambiguous(Vec<&'static str>),
    /// No option of the command.
    Unknown,
}

/// Looks a long name up as `getopt_long` does.
#[must_use]
pub fn long(command: Command, release: Option<Release>, name: &str) -> Lookup {
    let mut rows = beginning(command, release, name);
    let Some(first) = rows.next() else {
        return Lookup::Unknown;
    };
    if first.typed == name {
        return Lookup::Option(first);
    }
    let mut several: Vec<_> = std::iter::once(first).chain(rows).collect();
    several.dedup_by_key(|row| row.name());
    match several.iter().all(|row| row.name() == first.name()) {
        true => Lookup::Option(first),
        false => Lookup::Ambiguous(several.iter().map(|row| row.typed).collect()),
    }
}

/// The option of a letter.
#[must_use]
pub fn short(command: Command, release: Option<Release>, letter: char) -> Option<&'static Row> {
    let is_it = |row: &&Row| row.short == Some(letter) && row.is_in(command, release);
    let forms = rows().iter().filter(is_it);
    forms.max_by_key(|row| row.since)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_rows_claim_one_release() {
        for command in [Command::Srun, Command::Sbatch, Command::Salloc] {
            for release in Release::ALL {
                let rows = || {
                    rows()
                        .iter()
                        .filter(|row| row.is_in(command, Some(release)))
                };
                let mut names: Vec<_> = rows().map(|row| row.typed).collect();
                names.sort_unstable();
                let count = names.len();
                names.dedup();
                assert_eq!(names.len(), count, "{command:?} {release}");
                let mut letters: Vec<_> = of(command, Some(release))
                    .filter_map(|row| row.short)
                    .collect();
                letters.sort_unstable();
                let count = letters.len();
                letters.dedup();
                assert_eq!(letters.len(), count, "{command:?} {release}");
            }
        }
        assert!(variables(Command::Salloc, Release::NEWEST).count() > 25);
    }
}
