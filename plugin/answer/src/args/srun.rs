//! srun's options in `berth plan`: clap's definitions, made from the table of options, and srun's reading of the
//! values. Options that do not concern CPUs are accepted and ignored. srun's refusals are worded as clap words its
//! own: no value is repeated at length, or on several lines.

use std::ops::Deref;

use berth_srun::line::{LineOption, Trouble};
use berth_srun::options::{Command as Program, Lookup, Row, Takes, long, of, placing, short};
use berth_srun::reading::{Refused, read};
use berth_srun::{Release, SrunRequest};
use clap::Error;
use clap::error::{ContextKind, ContextValue};

use crate::text;
use crate::world::Context;

/// srun's reading of the options.
#[derive(Clone, Debug)]
pub struct SrunOptions {
    request: SrunRequest,
    /// The options that it was read from.
    options: Vec<LineOption>,
}

impl Deref for SrunOptions {
    type Target = SrunRequest;

    fn deref(&self) -> &SrunRequest {
        &self.request
    }
}

impl SrunOptions {
    /// srun's reading of what was typed, and of the variables that stand before the line or in the environment.
    ///
    /// # Errors
    /// Why srun refuses the options.
    pub fn of(
        typed: &[LineOption],
        on_line: &[String],
        context: &Context,
        release: Release,
    ) -> Result<Self, Refused> {
        let mut options = from_variables(on_line, context, release);
        options.extend(typed.iter().map(|option| {
            let found = long(Program::Srun, Some(release), &option.name);
            let known = matches!(found, Lookup::Option(found) if found.typed == option.name);
            LineOption {
                trouble: (!known).then_some(Trouble::Unknown),
                ..option.clone()
            }
        }));
        Self::read(options, release)
    }

    /// This step inside a job that passes these options on.
    ///
    /// # Errors
    /// Why srun refuses that line.
    pub fn inside(&self, passed: Vec<LineOption>) -> Result<Self, Refused> {
        let own = self.options.iter().filter(|one| !one.is_jobs).cloned();
        let options: Vec<_> = passed.into_iter().chain(own).collect();
        Self::read(options, self.request.release)
    }

    /// The options as they were met.
    pub fn options(&self) -> &[LineOption] {
        &self.options
    }

    /// This line with more options behind its own.
    ///
    /// # Errors
    /// Why srun refuses that line.
    pub fn with(&self, more: &[(&str, Option<&str>)]) -> Result<Self, Refused> {
        let more = more.iter();
        let more = more.map(|(name, value)| LineOption::typed(name, value.map(String::from)));
        let options: Vec<_> = self.options.iter().cloned().chain(more).collect();
        Self::read(options, self.request.release)
    }

    /// srun's reading of options.
    ///
    /// # Errors
    /// Why srun refuses them.
    pub fn read(options: Vec<LineOption>, release: Release) -> Result<Self, Refused> {
        let request = read(&options, release)?;
        Ok(Self { request, options })
    }
}

/// The options that clap or `berth plan` has itself; srun's --cluster is its --clusters.
const NOT_OURS: [&str; 4] = ["cluster", "help", "usage", "version"];

/// The options that `berth plan` takes, those that are shown first and in their order.
pub(super) fn rows() -> impl Iterator<Item = &'static Row> {
    let all = of(Program::Srun, None).filter(|row| row.typed == row.name());
    let hidden = all.filter(|row| row.summary.is_empty() && has_same_meaning(row.name()));
    placing().chain(hidden)
}

/// Whether an option of srun has the same meaning here.
pub(crate) fn has_same_meaning(name: &str) -> bool {
    !NOT_OURS.contains(&name)
}

/// The options of srun that `berth plan` takes without using them.
pub fn ignored() -> impl Iterator<Item = String> {
    let unused = rows().filter(|row| row.summary.is_empty());
    unused.map(|row| format!("--{}", row.typed))
}

/// The value that `NAME=VALUE` before a line's command gives a variable; the last counts.
pub(crate) fn set_on_line(pairs: &[String], name: &str) -> Option<String> {
    let mut pairs = pairs.iter().filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.rfind(|(known, _)| *known == name)?;
    Some(value.into())
}

/// The options that srun takes from variables: from the environment where the command runs on the
/// node, and from those that stand before srun on a line. No option names the file of
/// `SLURM_HOSTFILE`.
fn from_variables(on_line: &[String], context: &Context, release: Release) -> Vec<LineOption> {
    let of_environment = |name: &str| {
        let counts = context.is_here || name == berth_srun::options::HOST_FILE;
        counts.then(|| context.variable(name)).flatten()
    };
    berth_srun::options::variables(Program::Srun, release)
        .filter_map(|(variable, name)| {
            let value = set_on_line(on_line, variable).or_else(|| of_environment(variable))?;
            Some(LineOption::by_variable(variable, name, &value))
        })
        .collect()
}

/// srun takes a range of nodes; a plan that slurmctld is not asked about is for one number of them.
///
/// # Errors
/// The words to write instead.
pub fn one_number(request: &SrunRequest) -> Result<(), String> {
    let Some(range) = request.nodes else {
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
        match row.takes {
            Takes::Value if rest.starts_with('=') => {
                Some(vec![format!("--{}", row.typed), rest.to_string()])
            }
            Takes::Attached => Some(vec![format!("--{}={rest}", row.typed)]),
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

/// An option of srun as it is typed, quoted for a shell.
pub(crate) fn word(option: &LineOption) -> String {
    let Lookup::Option(row) = long(Program::Srun, None, &option.name) else {
        return String::new();
    };
    let value = option.value.as_deref();
    let value = value.filter(|value| !value.is_empty()).map(quoted);
    match (row.short, value, row.takes) {
        (Some(letter), Some(value), Takes::Value) => format!("-{letter} {value}"),
        (Some(letter), None, _) => format!("-{letter}"),
        (_, Some(value), _) => format!("--{}={value}", row.typed),
        (None, None, _) => format!("--{}", row.typed),
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
        Lookup::Option(row) if !row.summary.is_empty() => row.value_name,
        _ => "VALUE",
    }
}

/// Longer values are cut in messages.
const MOST_SHOWN: usize = 80;

/// A value as a message repeats it.
pub(super) fn cut(value: &str) -> String {
    text::one_line(&text::cut(value, MOST_SHOWN)).into_owned()
}

/// A wrong value, in clap's words.
pub(crate) fn invalid(name: &str, value_name: &str, value: &str, why: &str) -> String {
    let value = cut(value);
    format!("invalid value '{value}' for '--{name} <{value_name}>': {why}")
}

/// clap's error with its values cut.
pub fn shortened(mut why: Error) -> Error {
    let all: Vec<_> = why
        .context()
        .filter(|(kind, _)| *kind != ContextKind::Usage)
        .map(|(kind, value)| (kind, short_part(value)))
        .collect();
    for (kind, value) in all {
        match value {
            Some(value) => why.insert(kind, value),
            None => why.remove(kind),
        };
    }
    why
}

/// The first line of a refusal by clap, without the reminder of the usage.
pub(crate) fn in_one_line(why: Error) -> String {
    let text = shortened(why).to_string();
    let line = text.lines().next().unwrap_or_default();
    line.trim_start_matches("error: ").into()
}

/// A part of an error; none if it is advice that repeats a long value.
fn short_part(part: &ContextValue) -> Option<ContextValue> {
    let is_long =
        |text: &clap::builder::StyledStr| text.to_string().chars().count() > 4 * MOST_SHOWN;
    Some(match part {
        ContextValue::String(text) => ContextValue::String(cut(text)),
        ContextValue::Strings(all) => {
            ContextValue::Strings(all.iter().map(|text| cut(text)).collect())
        }
        ContextValue::StyledStr(text) if is_long(text) => return None,
        ContextValue::StyledStrs(all) if all.iter().any(is_long) => return None,
        other => other.clone(),
    })
}
