//! One option: everything that is known of it, and the words of the tables of options.

use berth_placement::sets::text::{LONGEST_WORD, nearest as near};

use super::{Command, Takes, of as options_of};
use crate::release::Release;

/// An option in the releases in which it has this form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The name as it is typed, without dashes.
    pub typed: &'static str,
    /// The name of the option for which this one is another name.
    pub(super) stands_for: Option<&'static str>,
    /// A second name.
    pub alias: Option<&'static str>,
    /// The letter behind a single dash.
    pub short: Option<char>,
    /// Whether a value follows.
    pub takes: Takes,
    pub(super) commands: u8,
    pub(super) since: Release,
    pub(super) until: Release,
    pub(super) effect: Effect,
    /// Whether a job may have more cores with it than tasks × `-c`.
    pub(super) grows: bool,
    /// Whether salloc and sbatch pass it to the steps of their job by a variable. Source: `set_envs`,
    /// `env_array_for_job`.
    pub(super) passed: bool,
    pub(super) variables: &'static [Variable],
    /// The name of its value in help; empty if there is no better one than the option's.
    pub value_name: &'static str,
    /// Its sentence in `berth plan --help`, the man page and completions; empty if they do not show it.
    pub summary: &'static str,
    /// More sentences, where one does not say enough.
    pub description: &'static str,
    /// Whether `-h` shows it too.
    pub in_short: bool,
    /// Its values, each with its meaning behind two blanks, and with what the user fills in between `<` and `>`.
    pub(super) values: &'static [&'static str],
}

/// Whether an option changes which nodes and cores a job or step gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It does not.
    Nothing,
    /// It does, and the model of slurmctld has it, or srun's plan of a step reads it beside the model.
    Modelled,
    /// It does, and the model does not have it.
    Unmodelled,
    /// It says which nodes may be chosen, and nothing about their cores. The nodes of a plan are assumed.
    Nodes,
    /// It gives the job GPUs. The model gives the job cores as if it requested none.
    Gpus,
}

/// A variable from which commands take an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Variable {
    pub name: &'static str,
    pub commands: u8,
    pub since: Release,
    pub until: Release,
}

/// One value of an option, or the beginning of one that goes on with what the user fills in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    /// `cores`, `map_cpu:`
    pub word: &'static str,
    /// `LIST`; empty where the word is all.
    pub rest: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
}

/// A table of options: name, letter, whether a value follows, the commands that have it, and what else is known.
macro_rules! rows {
    ($table:ident $($name:literal $($short:literal)? $takes:ident $commands:ident
        $({ $($field:ident: $value:expr),* $(,)? })?;)*) => {
        pub(super) const $table: &[Row] = &[$(Row {
            $(short: Some($short),)?
            $($($field: $value,)*)?
            ..Row::new($name, $takes, $commands)
        }),*];
    };
}

/// The variables of one name: of every command, and of the commands that make a job alone.
macro_rules! every {
    ($name:literal) => {
        &[
            of(SRUN, concat!("SLURM_", $name)),
            of(SBATCH, concat!("SBATCH_", $name)),
            of(SALLOC, concat!("SALLOC_", $name)),
        ]
    };
}
macro_rules! job {
    ($name:literal) => {
        &[
            of(SBATCH, concat!("SBATCH_", $name)),
            of(SALLOC, concat!("SALLOC_", $name)),
        ]
    };
}

pub(super) use {every, job, rows};

/// A variable that some commands read in every release.
pub(super) const fn of(commands: u8, name: &'static str) -> Variable {
    Variable {
        name,
        commands,
        since: Release::V22_05,
        until: Release::NEWEST,
    }
}

impl Variable {
    pub(super) fn is_read_by(&self, command: Command, release: Release) -> bool {
        self.commands & command.bit() != 0 && self.since <= release && release <= self.until
    }
}

impl Row {
    /// An option of every release that changes no cores and is not shown.
    pub(super) const fn new(typed: &'static str, takes: Takes, commands: u8) -> Self {
        Self {
            typed,
            stands_for: None,
            alias: None,
            short: None,
            takes,
            commands,
            since: Release::V22_05,
            until: Release::NEWEST,
            effect: Effect::Nothing,
            grows: false,
            passed: false,
            variables: &[],
            value_name: "",
            summary: "",
            description: "",
            in_short: false,
            values: &[],
        }
    }

    /// The option's name without dashes; for an alias the name of the option that it stands for.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.stands_for.unwrap_or(self.typed)
    }

    /// Whether help shows values.
    #[must_use]
    pub fn has_values(&self) -> bool {
        !self.values.is_empty()
    }

    /// The values that help shows, and that completions offer.
    pub fn values(&self) -> impl Iterator<Item = Value> + use<> {
        values(self.values)
    }

    /// Whether a command of a release has it in this form; without a release, of any.
    pub(super) fn is_in(&self, command: Command, release: Option<Release>) -> bool {
        let holds = |release| self.since <= release && release <= self.until;
        self.commands & command.bit() != 0 && release.is_none_or(holds)
    }

    /// The variable by which a job passes the option to its steps.
    pub(super) fn passed_by(&self, release: Release) -> Option<&'static str> {
        let read = |one: &&Variable| one.is_read_by(Command::Srun, release);
        let mut all = self.variables.iter().filter(read).filter(|_| self.passed);
        all.rfind(|one| one.name.starts_with("SLURM_"))
            .map(|one| one.name)
    }
}

/// Values as they stand in a description.
pub fn values(lines: &'static [&'static str]) -> impl Iterator<Item = Value> {
    lines.iter().map(|line| {
        let (text, meaning) = line.split_once("  ").unwrap_or((line, ""));
        let (word, rest) = text.split_once('<').unwrap_or((text, ""));
        Value {
            word,
            rest: rest.trim_end_matches('>'),
            meaning,
        }
    })
}

/// Options that Slurm once had, with their successors. Source: its page on multi-core support.
const FORMER: [(&str, &str); 4] = [
    ("job-mem", "mem"),
    ("mincores", "cores-per-socket"),
    ("minsockets", "sockets-per-node"),
    ("minthreads", "threads-per-core"),
];

/// The successor of an option that Slurm once had, else the option with the nearest name, if it is near enough to be
/// meant.
#[must_use]
pub fn nearest(name: &str, command: Command, release: Release) -> Option<&'static str> {
    if name.len() > LONGEST_WORD {
        return None;
    }
    let name = name.replace('_', "-").to_ascii_lowercase();
    if let Some((_, successor)) = FORMER.iter().find(|(former, _)| *former == name) {
        return Some(successor);
    }
    let most = match name.len() {
        0..=2 => 0,
        3..=4 => 1,
        _ => 2,
    };
    let names = options_of(command, Some(release)).map(|row| row.typed);
    near(&name, names.filter(|known| known.len() > 2), most)
}
