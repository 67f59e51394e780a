//! The table of options: the options of a command in a release line, and whether they take a value.

mod foreign;
mod job_variables;
mod nearest;
mod table;
mod variables;

use crate::release::Release;

pub use foreign::{Foreign, all_foreign, foreign};
pub use job_variables::job_variables;
pub use nearest::nearest;
pub use variables::{passed_by, variables};

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

/// An option in the releases in which it has this form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    name: &'static str,
    short: char,
    takes: Takes,
    commands: u8,
    since: Release,
    until: Release,
}

const SRUN: u8 = 1;
const SBATCH: u8 = 2;
const SALLOC: u8 = 4;
const SRUN_SBATCH: u8 = SRUN | SBATCH;
const SRUN_SALLOC: u8 = SRUN | SALLOC;
const SBATCH_SALLOC: u8 = SBATCH | SALLOC;
const ALL: u8 = SRUN | SBATCH | SALLOC;

/// An option of every release; a blank stands for no short name.
const fn row(name: &'static str, short: char, takes: Takes, commands: u8) -> Row {
    Row {
        name,
        short,
        takes,
        commands,
        since: Release::V22_05,
        until: Release::NEWEST,
    }
}

/// Names that stand for another option.
const ALIASES: [(&str, &str); 12] = [
    ("berth-bind-to", "bind-to"),
    ("berth-binding", "binding"),
    ("berth-confine", "confine"),
    ("berth-core-kind", "core-kind"),
    ("berth-cpuset", "cpuset"),
    ("berth-map-by", "map-by"),
    ("berth-near", "near"),
    ("berth-pool", "pool"),
    ("berth-rank-by", "rank-by"),
    ("cpu_bind", "cpu-bind"),
    ("pack-group", "het-group"),
    ("tasks-per-node", "ntasks-per-node"),
];

impl Row {
    const fn since(mut self, release: Release) -> Self {
        self.since = release;
        self
    }

    const fn until(mut self, release: Release) -> Self {
        self.until = release;
        self
    }

    /// The option's name without dashes; for an alias the name of the option that it stands for.
    #[must_use]
    pub fn name(&self) -> &'static str {
        let alias = ALIASES.iter().find(|(alias, _)| *alias == self.name);
        alias.map_or(self.name, |(_, name)| *name)
    }

    /// The name as it is typed.
    #[must_use]
    pub fn typed(&self) -> &'static str {
        self.name
    }

    /// The letter behind a single dash.
    #[must_use]
    pub fn short(&self) -> Option<char> {
        (self.short != ' ').then_some(self.short)
    }

    /// Whether a value follows.
    #[must_use]
    pub fn takes(&self) -> Takes {
        self.takes
    }
}

/// The options of a command in a release line; without one the newest form of every option that
/// any line has.
pub fn of(command: Command, release: Option<Release>) -> impl Iterator<Item = &'static Row> {
    let has = move |row: &Row| row.commands & command.bit() != 0;
    let rows = table::ROWS;
    // Forms of one option stand beside each other.
    let newest = move |at: usize, row: &Row| {
        let (before, after) = rows.split_at(at);
        let same = |other: &&Row| other.name == row.name;
        let others = before.iter().rev().take_while(same);
        let others = others.chain(after.iter().take_while(same));
        let mut others = others;
        !others.any(|other| has(other) && other.since > row.since)
    };
    rows.iter()
        .enumerate()
        .filter(move |(at, row)| {
            has(row)
                && match release {
                    Some(release) => row.since <= release && release <= row.until,
                    None => newest(*at, row),
                }
        })
        .map(|(_, row)| row)
}

/// The meaning of a long name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// An option, in full or by an abbreviation that only it has.
    Option(&'static Row),
    /// An abbreviation of several.
    Ambiguous(Vec<&'static str>),
    /// No option of the command.
    Unknown,
}

/// Looks a long name up as `getopt_long` does.
#[must_use]
pub fn long(command: Command, release: Option<Release>, name: &str) -> Found {
    let mut rows: Vec<_> = of(command, release)
        .filter(|row| row.name.starts_with(name))
        .collect();
    if let Some(exact) = rows.iter().find(|row| row.name == name) {
        return Found::Option(exact);
    }
    rows.dedup_by_key(|row| row.name());
    match rows.as_slice() {
        [] => Found::Unknown,
        [only] => Found::Option(only),
        [first, rest @ ..] if rest.iter().all(|row| row.name() == first.name()) => {
            Found::Option(first)
        }
        several => Found::Ambiguous(several.iter().map(|row| row.name).collect()),
    }
}

/// The option of a letter.
#[must_use]
pub fn short(command: Command, release: Option<Release>, letter: char) -> Option<&'static Row> {
    of(command, release).find(|row| row.short() == Some(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn takes(command: Command, release: Release, name: &str) -> Option<Takes> {
        match long(command, Some(release), name) {
            Found::Option(row) => Some(row.takes()),
            _ => None,
        }
    }

    #[test]
    fn what_differs_by_command_and_release() {
        use Command::{Salloc, Sbatch, Srun};
        use Takes::{Attached, Nothing, Value};
        let letter = |command, letter| short(command, None, letter).map(|row| row.takes());
        assert_eq!(letter(Srun, 'W'), Some(Value));
        assert_eq!(letter(Sbatch, 'W'), Some(Nothing));
        assert_eq!(letter(Salloc, 'W'), None);
        assert_eq!(letter(Srun, 'g'), None);
        assert_eq!(
            short(Srun, None, 'K').map(Row::name),
            Some("kill-on-bad-exit")
        );
        assert_eq!(
            short(Salloc, None, 'K').map(Row::name),
            Some("kill-command")
        );
        for (command, release, name, expected) in [
            (Srun, Release::V22_05, "pty", Some(Nothing)),
            (Srun, Release::V23_02, "pty", Some(Attached)),
            (Srun, Release::V22_05, "gid", Some(Value)),
            (Srun, Release::V23_02, "gid", None),
            (Sbatch, Release::V23_02, "gid", Some(Value)),
            (Srun, Release::V24_11, "wait-for-children", None),
            (Srun, Release::V25_05, "wait-for-children", Some(Nothing)),
            (Sbatch, Release::V22_05, "cpu-bind", None),
            (Srun, Release::V22_05, "exclusive", Some(Attached)),
        ] {
            assert_eq!(takes(command, release, name), expected, "{name} {release}");
        }
    }

    #[test]
    fn names_of_programs() {
        for (name, command) in [
            ("srun", Some(Command::Srun)),
            ("/usr/bin/sbatch", Some(Command::Sbatch)),
            ("srun.orig", Some(Command::Srun)),
            ("scrontab", None),
            ("", None),
        ] {
            assert_eq!(Command::named(name), command, "{name}");
        }
    }

    #[test]
    fn abbreviations() {
        let name = |text: &str| match long(Command::Srun, Some(Release::V22_05), text) {
            Found::Option(row) => row.name().to_string(),
            Found::Ambiguous(names) => names.join("|"),
            Found::Unknown => "-".into(),
        };
        for (text, means) in [
            ("cpu-b", "cpu-bind"),
            ("cpu_", "cpu-bind"),
            ("tasks-per", "ntasks-per-node"),
            ("ntasks-per-c", "ntasks-per-core"),
            ("nodes", "nodes"),
            ("node", "nodefile|nodelist|nodes"),
            ("hint", "hint"),
            ("mem_bind", "-"),
            ("het", "het-group"),
            ("bindi", "binding"),
            ("map", "map-by"),
        ] {
            assert_eq!(name(text), means, "{text}");
        }
    }

    #[test]
    fn no_two_rows_claim_one_release() {
        for command in [Command::Srun, Command::Sbatch, Command::Salloc] {
            for release in Release::ALL {
                let rows: Vec<_> = of(command, Some(release)).collect();
                let mut names: Vec<_> = rows.iter().map(|row| row.name).collect();
                names.sort_unstable();
                let count = names.len();
                names.dedup();
                assert_eq!(names.len(), count, "{command:?} {release}");
                let mut letters: Vec<_> = rows.iter().filter_map(|row| row.short()).collect();
                letters.sort_unstable();
                let count = letters.len();
                letters.dedup();
                assert_eq!(letters.len(), count, "{command:?} {release}");
            }
        }
    }
}
