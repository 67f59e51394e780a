//! One srun of a script with everything that applies to it: its own options, the job's options that
//! it takes over, and the variables that it reads.

use std::collections::BTreeSet;
use std::str::FromStr;

use berth_placement::request::mapping::MappingTexts;
use berth_placement::{Mapping, MappingError};
use berth_srun::reading::{Refused, SrunRequest};
use berth_srun::{LineOption, Release};

use super::command::{Command, Kind};
use super::finding::{Finding, Repair};
use super::place::Surroundings;
use super::script::{Role, Script};
use super::settings::{Settings, hidden};
use super::variables::JobVariables;

/// The options of Open MPI's mapping language.
pub(crate) const MAPPING: [&str; 3] = ["map-by", "rank-by", "bind-to"];

/// The input of a rule.
pub(crate) struct Case<'a> {
    pub script: &'a Script,
    pub command: &'a Command,
    pub around: &'a Surroundings<'a>,
    /// srun's reading of it, without values that only the shell knows.
    pub request: Result<SrunRequest, Refused>,
    /// srun's reading of the job around it; none if there is no job, or if it cannot be read.
    pub job: Option<SrunRequest>,
    /// Options of the job that the step does not find in variables.
    pub hidden: BTreeSet<String>,
    job_settings: Option<Settings>,
    /// Those that the job's options set.
    pub job_variables: JobVariables,
    settings: Settings,
}

impl<'a> Case<'a> {
    pub(crate) fn new(
        script: &'a Script,
        command: &'a Command,
        around: &'a Surroundings<'a>,
    ) -> Self {
        let is_job = matches!(command.kind, Kind::Job(_));
        let job = script.job.as_ref();
        let job = job.filter(|_| !is_job && !script.has_components);
        let is_complete = job.is_some_and(Command::is_complete);
        let job = job.map(|job| Settings::of(job, &JobVariables::default(), around.exclusive));
        let requested = job.as_ref().and_then(|job| job.read(around.release).ok());
        let threads = requested
            .as_ref()
            .and_then(|requested| requested.threads_per_core);
        let passed = job
            .as_ref()
            .map(|job| job.passed_on(around.release, threads));
        let mut settings = Settings::from(around.passed.clone());
        settings.add(passed.unwrap_or_default());
        let hidden = hidden(command, around.release);
        settings.without(&hidden);
        let variables = job.as_ref().map(|job| {
            let is_complete = is_complete && job.unknown.is_empty();
            let passed = job.passed_on(Release::NEWEST, None);
            JobVariables::of(passed.slurms(), requested.as_ref(), is_complete)
        });
        let variables = variables.unwrap_or_default();
        if !is_job {
            settings.add_variables(command, job.as_ref(), &variables, around.release);
        }
        // --exclusive is an option of the line that makes the job.
        let is_exclusive = around.exclusive && job.is_none();
        settings.add(Settings::of(command, &variables, is_exclusive));
        Self {
            script,
            command,
            around,
            request: settings.read(around.release),
            job: requested,
            hidden,
            job_settings: job,
            job_variables: variables,
            settings,
        }
    }

    /// Why srun refuses it, if that does not depend on what only the shell knows.
    pub(crate) fn refused(&self) -> Option<&Refused> {
        let refused = self.request.as_ref().err()?;
        let is_sure = self.unknown().is_empty() && self.command.is_complete();
        (is_sure || refused.wrong_value().is_some()).then_some(refused)
    }

    /// Options whose values only the shell knows.
    pub(crate) fn unknown(&self) -> &BTreeSet<String> {
        &self.settings.unknown
    }

    /// The value of an option that counts; one without a value has an empty one.
    pub(crate) fn has(&self, name: &str) -> Option<&str> {
        let last = self.settings.last(name)?;
        Some(last.value.as_deref().unwrap_or_default())
    }

    /// The value of one of berth's own options, if it can be read.
    pub(crate) fn own<T: FromStr>(&self, name: &str) -> Option<T> {
        self.has(name)?.parse().ok()
    }

    /// The variable that gives the value of an option that counts.
    pub(crate) fn variable_of(&self, name: &str) -> Option<&str> {
        self.settings.last(name)?.variable.as_deref()
    }

    /// The step's mapping.
    ///
    /// # Errors
    /// Options that cannot be read, or exclude each other.
    pub(crate) fn mapping(&self) -> Result<Option<Mapping>, MappingError> {
        let [map, rank, bind] = MAPPING.map(|name| self.has(name));
        Mapping::read(MappingTexts { map, rank, bind })
    }

    /// Whether an option is there, with a value that is known or not.
    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.has(name).is_some() || self.unknown().contains(name)
    }

    /// Whether the step or its job has one of these options.
    pub(crate) fn has_one_of(&self, names: &[&str]) -> bool {
        let mut names = names.iter();
        names.any(|name| self.is_set(name) || self.job_option(name).is_some())
    }

    /// Whether none of these options has a value that only the shell knows.
    pub(crate) fn knows(&self, names: &[&str]) -> bool {
        !names.iter().any(|name| self.unknown().contains(*name)) && self.command.is_complete()
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
        let requested = self.request.as_ref().ok()?;
        let range = |nodes: berth_srun::reading::NodeRange| nodes.most != Some(nodes.least);
        let by_nodes = requested.ntasks.is_none() && requested.nodes.is_some_and(range);
        (self.knows(&names) && !by_nodes).then(|| requested.tasks())
    }

    /// The number of nodes, if it can be read: the largest of a range, and 1 where no option gives it.
    pub(crate) fn nodes(&self) -> Option<u32> {
        let requested = self.request.as_ref().ok()?;
        let nodes = requested.nodes.map_or(Some(1), |nodes| nodes.most);
        nodes.filter(|_| self.knows(&["nodes", "nodelist"]) && requested.nodelist.is_none())
    }

    /// `-c` of the step, or else of the job, if the words give it.
    pub(crate) fn cpus_per_task(&self) -> Option<u32> {
        let job = self.job_option("cpus-per-task");
        if !self.knows(&["cpus-per-task"]) || job.is_some_and(|job| job.is_none()) {
            return None;
        }
        let own = self.request.as_ref().ok()?.cpus_per_task;
        let of_job = self.job.as_ref().and_then(|job| job.cpus_per_task);
        Some(own.or(of_job).unwrap_or(1))
    }

    /// An option of the job. The outer `None` means that the job has no such option, the inner one that its
    /// value is a shell variable.
    pub(crate) fn job_option(&self, name: &str) -> Option<Option<&str>> {
        let job = self.script.job.as_ref()?;
        let given = job.option(name)?;
        let value = given.value.as_deref().unwrap_or_default();
        Some((!job.is_computed(given)).then_some(value))
    }

    /// Whether the nodes are the job's alone.
    pub(crate) fn is_whole(&self) -> bool {
        let alone = |value: &str| ["", "exclusive"].contains(&value);
        let of_job = self.job_option("exclusive").flatten().is_some_and(alone);
        let own = self.script.job.is_none() && self.has("exclusive").is_some_and(alone);
        self.around.whole || self.around.exclusive || of_job || own || self.is_partition_whole()
    }

    /// Whether slurmctld hands out memory there; yes where no cluster is named.
    pub(crate) fn counts_memory(&self) -> bool {
        let partition = self.job_option("partition").flatten();
        let config = self.around.config();
        config.is_none_or(|config| config.counts_memory(partition))
    }

    /// Whether the partition gives whole nodes, as the cluster that was named says.
    fn is_partition_whole(&self) -> bool {
        let of_job = self.job_option("partition");
        let named = of_job.unwrap_or_else(|| self.has("partition"));
        let is_known =
            of_job.is_none_or(|name| name.is_some()) && !self.unknown().contains("partition");
        let config = self.around.config().filter(|_| is_known);
        config.is_some_and(|config| config.gives_whole_nodes(named, self.around.release.modelled()))
    }

    /// The options as a plan takes them; none if only the shell knows one that concerns it.
    pub(crate) fn options(&self) -> Option<Vec<LineOption>> {
        let is_known = self.settings.is_known(self.command);
        is_known.then(|| self.settings.slurms().cloned().collect())
    }

    /// The job as a line: the one around this step, or the command itself. `None` means that only the
    /// shell knows the line; `Some(None)` means that there is no job.
    pub(crate) fn job_line(&self) -> Option<Option<String>> {
        let line = match &self.job_settings {
            _ if matches!(self.command.kind, Kind::Job(_)) => self.settings.line_of(self.command),
            Some(job) => job.line_of(self.script.job.as_ref()?),
            None if self.script.has_components => None,
            None => return Some(None),
        };
        line.map(Some)
    }

    /// Whether the command is the job of a script: by its directives, or by the line that submits it.
    pub(crate) fn is_script(&self) -> bool {
        let job = self.script.job.as_ref();
        let is_job = job.is_some_and(|job| std::ptr::eq(job, self.command));
        let is_submitted = self.script.role == Role::Submitted;
        is_job && (self.command.name.range.is_empty() || is_submitted)
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

    /// Sets options, each of which is one word: a new value where the option stands, else the word at the end.
    pub(crate) fn set(&self, options: &[String]) -> Option<Repair> {
        self.command.set(&self.script.text, options)
    }

    /// Takes an option away.
    pub(crate) fn remove(&self, name: &str) -> Option<Repair> {
        let given = self.command.option(name)?;
        self.command.remove(&self.script.text, given)
    }

    /// Sets `--cpu-bind`.
    pub(crate) fn bind_to(&self, value: &str) -> Option<Repair> {
        self.set(&[format!("--cpu-bind={value}")])
    }

    /// The finding on the line of a word: directives are many lines.
    pub(crate) fn on_line_of(&self, word: usize, finding: Finding) -> Finding {
        let command = self.command;
        let word = command.words.get(word);
        let word = word.filter(|word| command.name.range.is_empty() && !word.range.is_empty());
        let line = word.map_or(command.number, |word| self.script.line_of(word.range.start));
        Finding { line, ..finding }
    }

    pub(crate) fn warning(&self, rule: &'static str, found: String, why: &str) -> Finding {
        Finding::warning(self.command.number, rule, found, why)
    }

    pub(crate) fn hint(&self, rule: &'static str, found: String, why: &str) -> Finding {
        self.warning(rule, found, why).hint_if(true)
    }
}
