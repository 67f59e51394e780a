//! srun's options in `berth plan`: clap's definitions, made from the table of options, and srun's
//! reading of the values. Options that do not concern CPUs are accepted and ignored.

use std::ops::Deref;

use berth_srun::line::{Given, Trouble};
use berth_srun::options::{Command as Program, Found, Row, Takes, long, of, placing, short};
use berth_srun::reading::{Refused, Setting, read};
use berth_srun::{Asked, Release};
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

use super::argument::argument;
use super::refused::invalid;
use crate::world::Standing;

/// srun's reading of the options.
#[derive(Clone, Debug)]
pub struct SrunOptions {
    asked: Asked,
    /// What it was read from.
    kept: Vec<Kept>,
}

/// One option with its value, as it was met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Its long name.
    pub name: String,
    /// Its value, if it has one.
    pub value: Option<String>,
    /// The variable that it comes from.
    pub variable: Option<String>,
    /// Whether it is an option of the job. slurmctld knows such an option even if the step's request
    /// does not have it.
    pub is_jobs: bool,
    /// A fault of it, apart from its value.
    pub trouble: Option<Trouble>,
}

impl Kept {
    /// An option of the line.
    pub fn typed(name: &str, value: Option<&str>) -> Self {
        Self {
            name: name.into(),
            value: value.map(String::from),
            variable: None,
            is_jobs: false,
            trouble: None,
        }
    }

    /// An option whose value comes from a variable.
    pub fn by_variable(name: &str, variable: &str, value: Option<&str>) -> Self {
        Self {
            variable: Some(variable.into()),
            ..Self::typed(name, value)
        }
    }

    /// The option as srun reads it.
    pub fn setting(&self) -> Setting<'_> {
        let setting = Setting {
            trouble: self.trouble.as_ref(),
            ..Setting::new(&self.name, self.value.as_deref())
        };
        match self.variable {
            Some(_) => setting.from_environment(),
            None => setting,
        }
    }
}

impl From<&Given> for Kept {
    fn from(given: &Given) -> Self {
        Self {
            variable: given.variable.clone(),
            trouble: given.trouble.clone(),
            ..Self::typed(&given.name, given.value.as_deref())
        }
    }
}

impl Deref for SrunOptions {
    type Target = Asked;

    fn deref(&self) -> &Asked {
        &self.asked
    }
}

impl SrunOptions {
    /// srun's reading of what was typed, and of the variables that stand before the line or in the environment.
    ///
    /// # Errors
    /// Why srun refuses the options.
    pub fn of(
        typed: &TypedOptions,
        on_line: &[String],
        standing: &Standing,
        release: Release,
    ) -> Result<Self, Refused> {
        let mut kept = from_variables(on_line, standing, release);
        kept.extend(typed.0.iter().map(|option| {
            let name = option.row.typed();
            let found = long(Program::Srun, Some(release), name);
            let known = matches!(found, Found::Option(found) if found.typed() == name);
            Kept {
                trouble: (!known).then_some(Trouble::Unknown),
                ..Kept::typed(option.row.name(), option.value.as_deref())
            }
        }));
        Self::read(kept, release)
    }

    /// The same step inside a job that passes these options on.
    ///
    /// # Errors
    /// Why srun refuses that line.
    pub fn inside(&self, passed: Vec<Kept>) -> Result<Self, Refused> {
        let own = self.kept.iter().filter(|kept| !kept.is_jobs).cloned();
        let kept: Vec<_> = passed.into_iter().chain(own).collect();
        Self::read(kept, self.asked.release)
    }

    /// The options as they were met.
    pub fn kept(&self) -> &[Kept] {
        &self.kept
    }

    /// The same line with more options behind its own.
    ///
    /// # Errors
    /// Why srun refuses that line.
    pub fn with(&self, more: &[(&str, Option<&str>)]) -> Result<Self, Refused> {
        let more = more.iter().map(|(name, value)| Kept::typed(name, *value));
        let kept: Vec<_> = self.kept.iter().cloned().chain(more).collect();
        Self::read(kept, self.asked.release)
    }

    /// srun's reading of options.
    ///
    /// # Errors
    /// Why srun refuses them.
    pub fn read(kept: Vec<Kept>, release: Release) -> Result<Self, Refused> {
        let asked = read(kept.iter().map(Kept::setting), release)?;
        Ok(Self { asked, kept })
    }
}

/// The options that clap or `berth plan` has itself; srun's --cluster is its --clusters.
const NOT_OURS: [&str; 4] = ["cluster", "help", "usage", "version"];

/// The options that `berth plan` takes, those that are shown first and in their order.
fn rows() -> impl Iterator<Item = &'static Row> {
    let all = of(Program::Srun, None).filter(|row| row.typed() == row.name());
    let hidden = all.filter(|row| row.summary.is_empty() && is_taken(row.name()));
    placing().chain(hidden)
}

/// Whether an option of srun has the same meaning here.
pub(crate) fn is_taken(name: &str) -> bool {
    !NOT_OURS.contains(&name)
}

/// The options of srun that `berth plan` takes without using them.
pub fn ignored() -> impl Iterator<Item = String> {
    let unused = rows().filter(|row| row.summary.is_empty());
    unused.map(|row| format!("--{}", row.typed()))
}

/// srun's options as they were typed, in their order, because srun reads them in that order.
#[derive(Clone, Debug, Default)]
pub struct TypedOptions(Vec<TypedOption>);

/// One of them.
#[derive(Clone, Debug)]
struct TypedOption {
    row: &'static Row,
    value: Option<String>,
}

impl TypedOptions {
    /// The options as somebody would type them: `-n 4`, `--cpu-bind=cores`.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let all = self.0.iter();
        all.map(|one| word(one.row, one.value.as_deref())).collect()
    }

    /// Adds one of srun's options by its long name.
    pub fn add(&mut self, name: &str, value: Option<&str>) {
        if let Found::Option(row) = long(Program::Srun, None, name) {
            let value = value.map(String::from);
            self.0.push(TypedOption { row, value });
        }
    }

    /// Adds the options of another line behind these.
    pub(crate) fn append(&mut self, mut others: Self) {
        self.0.append(&mut others.0);
    }

    /// Takes an option away. Returns it as it is typed, each time that it was given.
    pub(crate) fn remove(&mut self, name: &str) -> Vec<String> {
        let removed = self.0.extract_if(.., |one| one.row.name() == name);
        removed
            .map(|one| word(one.row, one.value.as_deref()))
            .collect()
    }
}

impl Args for TypedOptions {
    fn augment_args(command: Command) -> Command {
        command.args(rows().map(argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for TypedOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut all = Vec::new();
        for row in rows().filter(|row| matches.contains_id(row.typed())) {
            let places = matches.indices_of(row.typed()).into_iter().flatten();
            let values = matches.get_many::<String>(row.typed());
            for (at, value) in places.zip(values.into_iter().flatten()) {
                let value = Some(value.clone()).filter(|_| row.takes() != Takes::Nothing);
                all.push((at, TypedOption { row, value }));
            }
        }
        all.sort_by_key(|(at, _)| *at);
        Ok(Self(all.into_iter().map(|(_, option)| option).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The options that srun takes from variables: from the environment where the command runs on the
/// node, and from those that stand before srun on a line. No option names the file of
/// `SLURM_HOSTFILE`.
fn from_variables(on_line: &[String], standing: &Standing, release: Release) -> Vec<Kept> {
    let of_line = |name: &str| {
        let mut pairs = on_line.iter().filter_map(|word| word.split_once('='));
        pairs
            .rfind(|(known, _)| *known == name)
            .map(|(_, value)| value.to_string())
    };
    let of_environment = |name: &str| {
        let counts = standing.is_here || name == berth_srun::options::HOST_FILE;
        counts.then(|| standing.variable(name)).flatten()
    };
    berth_srun::options::variables(Program::Srun, release)
        .filter_map(|(variable, name)| {
            let value = of_line(variable).or_else(|| of_environment(variable))?;
            Some(Kept::by_variable(name, variable, Some(&value)))
        })
        .collect()
}

/// srun takes a range of nodes; a plan that slurmctld is not asked about is for one number of them.
///
/// # Errors
/// What to write instead.
pub fn one_number(asked: &Asked) -> Result<(), String> {
    let Some(range) = asked.nodes else {
        return Ok(());
    };
    let count = || format!("a job has from 1 to {MOST_NODES} nodes");
    let why = match range.most {
        Some(most) if most == range.least && most <= MOST_NODES => return Ok(()),
        Some(most) if most == range.least => count(),
        None if range.least == 0 => count(),
        _ => "it leaves the number of nodes to slurmctld, but a plan needs one number: give it"
            .into(),
    };
    Err(format!("-N: {why}"))
}

/// A word in the form in which clap reads it as getopt does: `-m=block` has the value
/// `=block`, and `-K0` is an option with an attached value.
pub fn as_getopt(word: &str) -> Vec<String> {
    let split = || {
        let mut letters = word.strip_prefix('-')?.chars();
        let row = short(Program::Srun, None, letters.next()?)?;
        let rest = Some(letters.as_str()).filter(|rest| !rest.is_empty())?;
        match row.takes() {
            Takes::Value if rest.starts_with('=') => {
                Some(vec![format!("--{}", row.typed()), rest.to_string()])
            }
            Takes::Attached => Some(vec![format!("--{}={rest}", row.typed())]),
            _ => None,
        }
    };
    split().unwrap_or_else(|| vec![word.to_string()])
}

/// A value as it is typed in a shell.
pub(crate) fn quoted(value: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "=:,./@%+-_".contains(letter);
    match value.chars().all(plain) {
        true => value.to_string(),
        false => shlex::try_quote(value).map_or_else(|_| value.into(), Into::into),
    }
}

/// An option as it is typed, quoted for a shell.
fn word(row: &Row, value: Option<&str>) -> String {
    let value = value.filter(|value| !value.is_empty()).map(quoted);
    match (row.short(), value, row.takes()) {
        (Some(letter), Some(value), Takes::Value) => format!("-{letter} {value}"),
        (Some(letter), None, _) => format!("-{letter}"),
        (_, Some(value), _) => format!("--{}={value}", row.typed()),
        (None, None, _) => format!("--{}", row.typed()),
    }
}

/// slurmctld's own limit.
const MOST_NODES: u32 = 65533;

/// srun's refusal in clap's words.
pub(crate) fn refusal(why: &Refused) -> String {
    match why.wrong_value() {
        Some((name, value)) => invalid(name, value_name(name), value, why.why()),
        None => why.to_string(),
    }
}

/// The name of an option's value, as help has it.
fn value_name(name: &str) -> &'static str {
    match long(Program::Srun, None, name) {
        Found::Option(row) if !row.summary.is_empty() => row.value_name,
        _ => "VALUE",
    }
}
