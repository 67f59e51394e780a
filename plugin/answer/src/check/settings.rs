//! The options that apply to a command, from where they come: its own words, the variables that it
//! reads, and the job around it. Values that only the shell knows are named apart.

use std::collections::BTreeSet;

use berth_srun::Release;
use berth_srun::line::{LineOption, Trouble};
use berth_srun::options::{Command as Program, Own, passed_by, variables};
use berth_srun::reading::{Refused, SrunRequest, read, selection};
use berth_srun::submission::own_values::{self, Typed};

use super::command::{Command, Kind};
use super::variables::JobVariables;
use crate::plan::controller::passed_by_variables;

/// The options of a command, as far as they are known; the last of a name counts.
#[derive(Clone, Default)]
pub(super) struct Settings {
    all: Vec<LineOption>,
    /// Options whose values only the shell knows.
    pub unknown: BTreeSet<String>,
}

impl From<Vec<LineOption>> for Settings {
    fn from(all: Vec<LineOption>) -> Self {
        Self {
            all,
            ..Self::default()
        }
    }
}

impl Settings {
    /// Those of its own words, with the variables of the job around it; with `--exclusive` beside them, as an option of
    /// `berth check`.
    pub(super) fn of(command: &Command, job: &JobVariables, is_exclusive: bool) -> Self {
        let mut own = Self::default();
        for given in &command.line.options {
            let value = match command.is_computed(given) {
                true => given.value.as_ref().and_then(|text| job.complete(text)),
                false => given.value.clone(),
            };
            if value.is_none() && command.is_computed(given) {
                own.unknown.insert(given.name.clone());
                continue;
            }
            own.all.push(LineOption {
                value,
                words: 0..0,
                ..given.clone()
            });
        }
        let exclusive = is_exclusive.then(|| LineOption::typed("exclusive", None));
        own.all.extend(exclusive);
        own
    }

    /// The job's options that its steps take over by variables, with the number of threads that they may use of a core.
    pub(super) fn passed_on(&self, release: Release, threads: Option<u32>) -> Self {
        let is_passed = |name: &&String| passed_by(name, release).is_some();
        Self {
            all: passed_by_variables(self.all.iter().cloned(), threads, release).collect(),
            unknown: self.unknown.iter().filter(is_passed).cloned().collect(),
        }
    }

    /// Takes options away.
    pub(super) fn without(&mut self, names: &BTreeSet<String>) {
        self.all.retain(|one| !names.contains(&one.name));
        self.unknown.retain(|name| !names.contains(name));
    }

    /// Adds options that override those before.
    pub(super) fn add(&mut self, others: Self) {
        for one in others.all {
            self.unknown.remove(&one.name);
            self.all.push(one);
        }
        self.unknown.extend(others.unknown);
    }

    /// Adds options from variables that the script sets; the user's defaults for berth's own options only
    /// where they hold beside those of the step and of the job around it.
    pub(super) fn add_variables(
        &mut self,
        command: &Command,
        job: Option<&Self>,
        of_job: &JobVariables,
        release: Release,
    ) {
        let set = &command.variables;
        let own = Own::ALL
            .into_iter()
            .filter(|own| is_default(*own, command, job))
            .map(|own| (own.variable, own.name));
        for (variable, name) in variables(Program::Srun, release).chain(own) {
            let Some(found) = set.get(variable) else {
                continue;
            };
            let Some(value) = of_job.value_of(found) else {
                self.all.retain(|one| one.name != name);
                self.unknown.insert(name.into());
                continue;
            };
            self.unknown.remove(name);
            self.all
                .push(LineOption::by_variable(variable, name, &value));
        }
    }

    /// The option of a name that counts.
    pub(super) fn last(&self, name: &str) -> Option<&LineOption> {
        self.all.iter().rfind(|one| one.name == name)
    }

    /// Those that a table has; others may be a plugin's.
    pub(super) fn slurms(&self) -> impl Iterator<Item = &LineOption> {
        let all = self.all.iter();
        all.filter(|one| one.trouble != Some(Trouble::Unknown))
    }

    /// srun's reading of them.
    ///
    /// # Errors
    /// Why srun refuses them.
    pub(super) fn read(&self, release: Release) -> Result<SrunRequest, Refused> {
        read(self.slurms(), release)
    }

    /// A job as a line of its program, with the options that concern a plan; `None` if only the shell
    /// knows them.
    pub(super) fn line_of(&self, job: &Command) -> Option<String> {
        let Kind::Job(program) = job.kind else {
            return None;
        };
        self.is_known(job).then_some(())?;
        let all = self.all.iter();
        let concerns =
            |one: &&LineOption| selection::concerns(&one.name) || Own::named(&one.name).is_some();
        let words = all.filter(concerns).map(|one| match &one.value {
            Some(value) => format!("--{}={value}", one.name),
            None => format!("--{}", one.name),
        });
        let words: Vec<_> = std::iter::once(program.name().into())
            .chain(words)
            .collect();
        shlex::try_join(words.iter().map(String::as_str)).ok()
    }

    /// Whether only the shell knows no option that concerns a plan.
    pub(super) fn is_known(&self, command: &Command) -> bool {
        command.is_complete() && !self.unknown.iter().any(|name| selection::concerns(name))
    }
}

/// The options of a job that a command does not find in variables. The number of tasks stands in two.
pub(super) fn hidden(command: &Command, release: Release) -> BTreeSet<String> {
    let is_hidden = |name: &str| command.hidden.contains_key(name);
    let all = variables(Program::Srun, release);
    let all = all.filter(|(variable, name)| {
        passed_by(name, release) == Some(variable)
            && is_hidden(variable)
            && (*name != "ntasks" || is_hidden("SLURM_NPROCS"))
    });
    all.map(|(_, name)| name.into()).collect()
}

/// Whether a default for one of berth's own options holds.
fn is_default(own: Own, command: &Command, job: Option<&Settings>) -> bool {
    let typed = Own::ALL.into_iter().filter_map(|one| {
        let value = command.option(one.name)?.value.as_deref();
        Some(Typed::of(one, value.unwrap_or_default()))
    });
    let typed: Vec<_> = typed.collect();
    let variable = |name: &str| {
        let mut all = Own::ALL.into_iter();
        match all.find(|one| one.routed == name) {
            Some(one) => job?.last(one.name)?.value.clone(),
            None => Some(command.variables.get(name)?.value.to_string()),
        }
    };
    own_values::users(own, &typed, variable).is_some()
}
