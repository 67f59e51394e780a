//! One srun of a script with everything that applies to it: its own options, the job's options that
//! it takes over, and the variables that it reads.

use std::collections::BTreeSet;

use berth_placement::Node;
use berth_srun::Release;
use berth_srun::line::Trouble;
use berth_srun::options::variables;
use berth_srun::reading::{Asked, Refused, Setting, read};

use super::command::{Command, Kind, Variables};
use super::finding::{Finding, Repair};
use super::script::Script;

/// The options that sbatch and salloc pass to the steps of their job by a variable.
/// Source: `set_envs`, `env_array_for_job`.
const PASSED: &[&str] = &[
    "ntasks",
    "nodes",
    "ntasks-per-node",
    "ntasks-per-core",
    "distribution",
    "threads-per-core",
    "hint",
    "overcommit",
    "cpus-per-task",
    "mem-bind",
];

/// The surroundings of a check.
#[derive(Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    /// The machine it will run on, if that is known.
    pub host: Option<&'a Node>,
    pub release: Release,
    /// Whether jobs get whole nodes there.
    pub whole: bool,
}

/// A setting that applies: name, value, and whether it comes from a variable.
#[derive(Clone, Debug)]
struct Applied {
    name: String,
    value: Option<String>,
    trouble: Option<Trouble>,
    from_environment: bool,
}

/// The input of a rule.
pub(crate) struct Case<'a> {
    pub script: &'a Script,
    pub command: &'a Command,
    pub around: Surroundings<'a>,
    /// srun's reading of it, without values that only the shell knows.
    pub asked: Result<Asked, Refused>,
    /// The same of the job around it.
    pub job: Option<Asked>,
    settings: Vec<Applied>,
    unknown: BTreeSet<String>,
}

impl<'a> Case<'a> {
    pub(crate) fn new(script: &'a Script, command: &'a Command, around: Surroundings<'a>) -> Self {
        let mut unknown = BTreeSet::new();
        let is_job = matches!(command.kind, Kind::Job(_));
        let outer = script
            .job
            .as_ref()
            .filter(|_| !is_job && !script.has_components);
        let mut settings = Vec::new();
        let mut job = None;
        if let Some(outer) = outer {
            let mut not_known = BTreeSet::new();
            let mut of_job = applied(outer, &mut not_known);
            job = asked(&of_job, around.release).ok();
            of_job.retain(|one| is_passed(&one.name, around.release));
            of_job
                .iter_mut()
                .for_each(|one| one.from_environment = true);
            settings.extend(of_job);
            let passed = |name: &String| is_passed(name, around.release);
            unknown.extend(not_known.into_iter().filter(passed));
        }
        if !is_job {
            from_variables(
                &command.variables,
                around.release,
                &mut settings,
                &mut unknown,
            );
        }
        let mut not_known = BTreeSet::new();
        for own in applied(command, &mut not_known) {
            unknown.remove(&own.name);
            settings.push(own);
        }
        unknown.extend(not_known);
        Self {
            script,
            command,
            around,
            asked: asked(&settings, around.release),
            job,
            settings,
            unknown,
        }
    }

    /// Why srun refuses it, if that does not depend on what only the shell knows.
    pub(crate) fn refused(&self) -> Option<&Refused> {
        let refused = self.asked.as_ref().err()?;
        let is_sure = self.unknown.is_empty() && self.command.is_complete();
        (is_sure || refused.wrong_value().is_some()).then_some(refused)
    }

    /// The value of an option that counts; one without a value has an empty one.
    pub(crate) fn has(&self, name: &str) -> Option<&str> {
        let last = self.settings.iter().rev().find(|one| one.name == name)?;
        Some(last.value.as_deref().unwrap_or_default())
    }

    /// Whether an option is there, with a value that is known or not.
    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.has(name).is_some() || self.unknown.contains(name)
    }

    /// Whether none of these options has a value that only the shell knows.
    pub(crate) fn knows(&self, names: &[&str]) -> bool {
        !names.iter().any(|name| self.unknown.contains(*name)) && self.command.is_complete()
    }

    /// The number of tasks, if the words give it.
    pub(crate) fn tasks(&self) -> Option<u32> {
        let names = [
            "ntasks",
            "nodes",
            "ntasks-per-node",
            "nodelist",
            "extra-node-info",
        ];
        let asked = self.asked.as_ref().ok()?;
        let range = |nodes: berth_srun::reading::NodeRange| nodes.most != Some(nodes.least);
        let by_nodes = asked.ntasks.is_none() && asked.nodes.is_some_and(range);
        (self.knows(&names) && !by_nodes).then(|| asked.tasks())
    }

    /// The number of nodes, if it can be read: the largest of a range, and 1 where no option gives it.
    pub(crate) fn nodes(&self) -> Option<u32> {
        let asked = self.asked.as_ref().ok()?;
        let nodes = asked.nodes.map_or(Some(1), |nodes| nodes.most);
        nodes.filter(|_| self.knows(&["nodes", "nodelist"]) && asked.nodelist.is_none())
    }

    /// `-c` of the step, or else of the job, if the words give it.
    pub(crate) fn cpus_per_task(&self) -> Option<u32> {
        let job = self.job_option("cpus-per-task");
        if !self.knows(&["cpus-per-task"]) || job.is_some_and(|job| job.is_none()) {
            return None;
        }
        let own = self.asked.as_ref().ok()?.cpus_per_task;
        let of_job = self.job.as_ref().and_then(|job| job.cpus_per_task);
        Some(own.or(of_job).unwrap_or(1))
    }

    /// An option of the job. The outer `None` means that the job has no such option, the inner one that its
    /// value is a shell variable.
    pub(crate) fn job_option(&self, name: &str) -> Option<Option<&str>> {
        let job = self.script.job.as_ref()?;
        let given = job.given(name)?;
        let value = given.value.as_deref().unwrap_or_default();
        Some((!job.is_computed(given)).then_some(value))
    }

    /// Whether the nodes are the job's alone.
    pub(crate) fn is_whole(&self) -> bool {
        let alone = |value: &str| ["", "exclusive"].contains(&value);
        let of_job = self.job_option("exclusive").flatten().is_some_and(alone);
        let own = self.script.job.is_none() && self.has("exclusive").is_some_and(alone);
        self.around.whole || of_job || own
    }

    /// `--cpu-bind` as words.
    pub(crate) fn cpu_bind(&self) -> String {
        self.has("cpu-bind")
            .unwrap_or_default()
            .to_ascii_lowercase()
    }

    /// Whether it is a list of the user's.
    pub(crate) fn is_list(&self) -> bool {
        let bind = self.cpu_bind();
        bind.contains("map_") || bind.contains("mask_")
    }

    /// One edit as a repair.
    pub(crate) fn insert(&self, words: &str) -> Option<Repair> {
        self.command.insert(words).map(|edit| vec![edit])
    }

    /// Sets `--cpu-bind`.
    pub(crate) fn bind_to(&self, value: &str) -> Option<Repair> {
        let edit = self.command.set(
            &self.script.text,
            "cpu-bind",
            value,
            &format!("--cpu-bind={value}"),
        );
        edit.map(|edit| vec![edit])
    }

    pub(crate) fn warning(&self, rule: &'static str, found: String, why: &str) -> Finding {
        Finding::warning(self.command.number, rule, found, why)
    }

    pub(crate) fn hint(&self, rule: &'static str, found: String, why: &str) -> Finding {
        Finding::hint(self.command.number, rule, found, why)
    }
}

fn is_passed(name: &str, release: Release) -> bool {
    let is_read = variables(release)
        .any(|(variable, option)| option == name && variable.starts_with("SLURM_"));
    PASSED.contains(&name) && is_read
}

/// The options of a line; those whose values only the shell knows are named in `unknown`.
fn applied(command: &Command, unknown: &mut BTreeSet<String>) -> Vec<Applied> {
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
            from_environment: false,
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

/// Options from variables that the script sets.
fn from_variables(
    set: &Variables,
    release: Release,
    settings: &mut Vec<Applied>,
    unknown: &mut BTreeSet<String>,
) {
    let ours = [("BERTH_BINDING", "binding")];
    for (variable, name) in variables(release).chain(ours) {
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
            from_environment: true,
        });
    }
}

/// srun's reading of settings. An option that no table has may be a plugin's.
fn asked(settings: &[Applied], release: Release) -> Result<Asked, Refused> {
    let known = settings
        .iter()
        .filter(|one| one.trouble != Some(Trouble::Unknown));
    let settings = known.map(|one| {
        let setting = Setting {
            trouble: one.trouble.as_ref(),
            ..Setting::new(&one.name, one.value.as_deref())
        };
        match one.from_environment {
            true => setting.from_environment(),
            false => setting,
        }
    });
    read(settings, release)
}
