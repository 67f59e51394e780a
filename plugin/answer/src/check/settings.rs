//! The options that apply to a command, from where they come: its own words, the variables that it
//! reads, and the job around it. Values that only the shell knows are named apart.

use std::collections::BTreeSet;

use berth_srun::Release;
use berth_srun::line::Trouble;
use berth_srun::options::{passed_by, variables};
use berth_srun::reading::{Asked, Refused, Setting, read, selection};
use berth_srun::submission::by_default::{self, Names, Typed};

use super::command::{Command, Kind, Variables};
use crate::args::Kept;

/// A setting that applies: name, value, and whether it comes from a variable.
#[derive(Clone, Debug)]
pub(super) struct Applied {
    pub name: String,
    pub value: Option<String>,
    trouble: Option<Trouble>,
    /// The variable by which it comes.
    pub variable: Option<&'static str>,
    is_jobs: bool,
}

impl Applied {
    /// `--exclusive`, from an option of `berth check`.
    pub(super) fn exclusive() -> Self {
        Self {
            name: "exclusive".into(),
            value: None,
            trouble: None,
            variable: None,
            is_jobs: false,
        }
    }
}

/// The job around a step, as far as its words are known.
pub(super) struct Outer {
    pub settings: Vec<Applied>,
    pub unknown: BTreeSet<String>,
}

/// The options as a plan takes them; none if only the shell knows one that concerns it.
pub(super) fn kept(
    command: &Command,
    settings: &[Applied],
    unknown: &BTreeSet<String>,
) -> Option<Vec<Kept>> {
    is_known(command, unknown).then_some(())?;
    let known = settings
        .iter()
        .filter(|one| one.trouble != Some(Trouble::Unknown));
    let kept = known.map(|one| Kept {
        variable: one.variable.map(String::from),
        is_jobs: one.is_jobs,
        ..Kept::typed(&one.name, one.value.as_deref())
    });
    Some(kept.collect())
}

/// A job as a line of its program, with the options that concern a plan; `None` if only the shell
/// knows them.
pub(super) fn line_of_job(
    job: &Command,
    settings: &[Applied],
    unknown: &BTreeSet<String>,
) -> Option<String> {
    let Kind::Job(program) = job.kind else {
        return None;
    };
    is_known(job, unknown).then_some(())?;
    let is_own = |name: &str| {
        let name = name.strip_prefix("berth-").unwrap_or(name);
        by_default::ALL.iter().any(|own| own.option == name)
    };
    let concerns = |one: &&Applied| selection::concerns(&one.name) || is_own(&one.name);
    let words = settings
        .iter()
        .filter(concerns)
        .map(|one| match &one.value {
            Some(value) => format!("--{}={value}", one.name),
            None => format!("--{}", one.name),
        });
    let words: Vec<_> = std::iter::once(program.name().into())
        .chain(words)
        .collect();
    shlex::try_join(words.iter().map(String::as_str)).ok()
}

fn is_known(command: &Command, unknown: &BTreeSet<String>) -> bool {
    command.is_complete() && !unknown.iter().any(|name| selection::concerns(name))
}

impl Outer {
    pub(super) fn of(job: &Command) -> Self {
        let mut unknown = BTreeSet::new();
        Self {
            settings: applied(job, &mut unknown),
            unknown,
        }
    }

    /// What its steps take over.
    pub(super) fn passed_on(&self, release: Release) -> impl Iterator<Item = Applied> {
        self.settings.iter().filter_map(move |one| {
            Some(Applied {
                variable: Some(passed_by(&one.name, release)?),
                is_jobs: true,
                ..one.clone()
            })
        })
    }
}

/// The options of a line; those whose values only the shell knows are named in `unknown`.
pub(super) fn applied(command: &Command, unknown: &mut BTreeSet<String>) -> Vec<Applied> {
    let mut all = Vec::new();
    for given in &command.line.given {
        let mut value = given.value.clone();
        if command.is_computed(given) {
            value = value.and_then(|text| known_value(&text, &command.variables));
            if value.is_none() {
                unknown.insert(given.name.clone());
                continue;
            }
        }
        all.push(Applied {
            name: given.name.clone(),
            value,
            trouble: given.trouble.clone(),
            variable: None,
            is_jobs: false,
        });
    }
    all
}

/// The value of `$NAME`, where the script itself gives it.
fn known_value(text: &str, variables: &Variables) -> Option<String> {
    let name = text.strip_prefix('$')?;
    let inner = name
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'));
    let variable = variables.get(inner.unwrap_or(name))?;
    (!variable.is_computed).then(|| variable.value.clone())
}

/// Options from variables that the script sets; the user's defaults for berth's own options only where
/// they hold beside those of the step and of the job around it.
pub(super) fn from_variables(
    (command, outer): (&Command, Option<&Outer>),
    release: Release,
    settings: &mut Vec<Applied>,
    unknown: &mut BTreeSet<String>,
) {
    let set = &command.variables;
    let own = by_default::ALL
        .into_iter()
        .filter(|names| is_default(names, command, outer))
        .map(|names| (names.own, names.option));
    for (variable, name) in variables(release).chain(own) {
        let Some(found) = set.get(variable) else {
            continue;
        };
        let value = match found.is_computed {
            false => Some(found.value.clone()),
            true => known_value(&found.value, set),
        };
        if value.is_none() {
            settings.retain(|one| one.name != name);
            unknown.insert(name.into());
            continue;
        }
        unknown.remove(name);
        settings.push(Applied {
            name: name.into(),
            value,
            trouble: None,
            variable: Some(variable),
            is_jobs: false,
        });
    }
}

/// Whether a default for one of berth's own options holds.
fn is_default(names: &Names, command: &Command, outer: Option<&Outer>) -> bool {
    let given = |name: &str| command.given(name);
    let typed = by_default::ALL.into_iter().filter_map(|one| {
        let value = given(one.option)?.value.as_deref();
        Some(Typed::of(one, value.unwrap_or_default()))
    });
    let typed: Vec<_> = typed.collect();
    let of_job = |option: &str| {
        let mut settings = outer?.settings.iter();
        settings.rfind(|one| one.name == option)?.value.clone()
    };
    let variable = |name: &str| {
        let routed = by_default::ALL.into_iter().find(|one| one.routed == name);
        match routed {
            Some(one) => of_job(one.option),
            None => Some(command.variables.get(name)?.value.clone()),
        }
    };
    by_default::users(names, &typed, variable).is_some()
}

/// srun's reading of settings. An option that no table has may be a plugin's.
pub(super) fn asked(settings: &[Applied], release: Release) -> Result<Asked, Refused> {
    let known = settings
        .iter()
        .filter(|one| one.trouble != Some(Trouble::Unknown));
    let settings = known.map(|one| {
        let setting = Setting {
            trouble: one.trouble.as_ref(),
            ..Setting::new(&one.name, one.value.as_deref())
        };
        match one.variable {
            Some(_) => setting.from_environment(),
            None => setting,
        }
    });
    read(settings, release)
}
