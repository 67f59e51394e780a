//! srun's options in `berth plan`: clap's definitions, made from the table of options, and srun's
//! reading of the values. Options that do not concern CPUs are accepted and ignored.

use std::ops::Deref;
use std::sync::OnceLock;

use berth_srun::options::{Command as Program, Found, Row, Takes, long, of, short};
use berth_srun::reading::{Refused, Setting, read};
use berth_srun::{Asked, Release, line::Trouble};
use clap::builder::StringValueParser;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};

use super::offered::offered;
use super::refused::cut;
use super::shown::{SHOWN, shown};
use super::values;
use crate::world::Standing;

/// srun's reading of the options.
#[derive(Clone, Debug)]
pub struct SrunOptions {
    asked: Asked,
    /// What it was read from.
    kept: Vec<Kept>,
    /// The faults of options that srun of the release does not have.
    unknown: Vec<String>,
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
}

impl Kept {
    /// An option of the line.
    pub fn typed(name: &str, value: Option<&str>) -> Self {
        Self {
            name: name.into(),
            value: value.map(String::from),
            variable: None,
            is_jobs: false,
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
        let mut unknown = Vec::new();
        for option in &typed.0 {
            let row = option.row;
            let known = matches!(long(Program::Srun, Some(release), row.typed()), Found::Option(found) if found.typed() == row.typed());
            if !known {
                unknown.push(row.name().to_string());
            }
            kept.push(Kept::typed(row.name(), option.value.as_deref()));
        }
        Self::read(kept, unknown, release)
    }

    /// The same step inside a job that passes these options on.
    ///
    /// # Errors
    /// Why srun refuses that line.
    pub fn inside(&self, passed: Vec<Kept>) -> Result<Self, Refused> {
        let own = self.kept.iter().filter(|kept| !kept.is_jobs).cloned();
        let kept: Vec<_> = passed.into_iter().chain(own).collect();
        Self::read(kept, self.unknown.clone(), self.asked.release)
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
        Self::read(kept, self.unknown.clone(), self.asked.release)
    }

    /// srun's reading of options; those in `unknown` are not in the release's table.
    ///
    /// # Errors
    /// Why srun refuses them.
    pub fn read(kept: Vec<Kept>, unknown: Vec<String>, release: Release) -> Result<Self, Refused> {
        let trouble = Trouble::Unknown;
        let setting = |one: &'_ Kept| -> (bool, bool) {
            (one.variable.is_some(), unknown.contains(&one.name))
        };
        let settings = kept.iter().map(|one| {
            let (from_environment, is_unknown) = setting(one);
            let setting = Setting {
                trouble: is_unknown.then_some(&trouble),
                ..Setting::new(&one.name, one.value.as_deref())
            };
            match from_environment {
                true => setting.from_environment(),
                false => setting,
            }
        });
        let asked = read(settings, release)?;
        Ok(Self {
            asked,
            kept,
            unknown,
        })
    }
}

/// The options that berth or clap has itself; srun's --cluster is its --clusters.
const NOT_OURS: &[&str] = &[
    "bind-to",
    "binding",
    "cluster",
    "confine",
    "core-kind",
    "cpuset",
    "help",
    "map-by",
    "near",
    "pool",
    "rank-by",
    "usage",
    "version",
];

/// The rows that `berth plan` takes, those that are shown first and in their order.
fn rows() -> &'static [&'static Row] {
    static ROWS: OnceLock<Vec<&Row>> = OnceLock::new();
    ROWS.get_or_init(|| {
        let all = of(Program::Srun, None).filter(|row| !NOT_OURS.contains(&row.name()));
        let place = |row: &&Row| SHOWN.iter().position(|shown| shown.0 == row.typed());
        let mut rows: Vec<_> = all.collect();
        rows.sort_by_key(|row| place(row).unwrap_or(usize::MAX));
        rows
    })
}

fn argument(row: &'static Row) -> Arg {
    let mut arg = Arg::new(row.typed())
        .long(row.typed())
        .help_heading("Request");
    if let Some(letter) = row.short() {
        arg = arg.short(letter);
    }
    match shown(row.typed()) {
        Some((_, value, help, in_short)) => {
            arg = arg.help(*help).hide_short_help(!in_short);
            if !value.is_empty() {
                arg = arg.value_name(*value);
            }
            arg = described(arg, row.typed(), help);
        }
        None => arg = arg.hide(true),
    }
    match row.takes() {
        // It is no flag of clap, because that would have a value in every parse.
        Takes::Nothing => arg
            .action(ArgAction::Append)
            .num_args(0)
            .default_missing_value(""),
        // It takes any word, as getopt does.
        Takes::Value => arg.action(ArgAction::Append).allow_hyphen_values(true),
        Takes::Attached => arg
            .action(ArgAction::Append)
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value(""),
    }
}

/// What `--help`, the man page and completions say beyond the summary.
fn described(mut arg: Arg, name: &str, help: &str) -> Arg {
    let values = values::of(name);
    let mut text = values::description(name).unwrap_or(help).to_string();
    if !values.is_empty() {
        text += "\n\nValues:";
        for value in values {
            text += &format!("\n  {}{}: {}", value.word, value.rest, value.meaning);
        }
        let parser = offered(StringValueParser::new(), values);
        arg = arg.value_parser(parser).hide_possible_values(true);
    }
    arg.long_help(text)
}

/// The options of srun that `berth plan` takes without using them.
pub fn ignored() -> impl Iterator<Item = String> {
    let unused = |row: &&&Row| shown(row.typed()).is_none() && row.typed() == row.name();
    let rows = rows().iter().filter(unused);
    rows.map(|row| format!("--{}", row.typed()))
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
        let found = rows().iter().find(|row| row.typed() == name);
        self.0.extend(found.map(|row| TypedOption {
            row,
            value: value.map(String::from),
        }));
    }
}

impl Args for TypedOptions {
    fn augment_args(command: Command) -> Command {
        command.args(rows().iter().map(|row| argument(row)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for TypedOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut all = Vec::new();
        for id in matches.ids() {
            let Some(row) = rows().iter().find(|row| row.typed() == id.as_str()) else {
                continue;
            };
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
    berth_srun::options::variables(release)
        .filter_map(|(variable, name)| {
            let value = of_line(variable).or_else(|| of_environment(variable))?;
            Some(Kept {
                name: name.into(),
                value: Some(value),
                variable: Some(variable.into()),
                is_jobs: false,
            })
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

/// An option as it is typed, quoted for a shell.
fn word(row: &Row, value: Option<&str>) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "=:,./@%+-_".contains(letter);
    let quoted = |value: &str| match value.chars().all(plain) {
        true => value.to_string(),
        false => shlex::try_quote(value).map_or_else(|_| value.into(), Into::into),
    };
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
        Some((name, value)) => {
            let value_name = shown(name).map_or("VALUE", |shown| shown.1);
            format!(
                "invalid value '{}' for '--{name} <{value_name}>': {}",
                cut(value),
                why.why()
            )
        }
        None => why.to_string(),
    }
}
