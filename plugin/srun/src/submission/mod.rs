//! The submitting command's own words. srun, sbatch and salloc give a SPANK plugin nothing but
//! its option. But a binding that can never fit should be refused before anything is queued, and
//! no record of Slurm shows that a step was started with `--overlap`.
//! In: the command's arguments, a script's `#SBATCH` lines. Out: the facts that are sure. If they
//! are not enough, nothing is refused here and the node decides.

pub mod cpuset;
mod directives;
pub mod never_fits;
pub mod own_values;

use berth_placement::request::cpu_bind::Mode;

use crate::conf::Config;
use crate::line::{self, Line, LineOption};
use crate::options::{Command, Own, growing, variables};
use crate::reading::{NodeRange, SrunRequest, read};
use crate::release::Release;

pub use directives::{DOS_LINES, Directive, Word, directives, refused_script};

/// The content of a command line.
#[derive(Clone, Debug)]
pub struct Words {
    /// Whether the command is srun, whose steps belong to the job around it, if there is one; the
    /// others make new jobs.
    pub is_srun: bool,
    command: Option<Command>,
    release: Release,
    /// A script's options, and those of the line, which override them.
    options: Vec<LineOption>,
    /// The first word that is no option: program, script or command.
    pub program: Option<String>,
    /// Whether another component follows (`:`), or a word may be an option or an argument.
    unsure: bool,
    /// Whether the job's partition may give it more cores than it requests.
    may_get_more: bool,
}

impl Words {
    /// Reads the words after the command's name, by the rules of the running release.
    #[must_use]
    pub fn read<'a>(
        command: &str,
        words: impl IntoIterator<Item = &'a str>,
        release: Release,
    ) -> Self {
        let words: Vec<_> = words.into_iter().collect();
        let command = Command::named(command);
        let Line {
            options,
            program,
            more,
            ..
        } = line::read(&words, command.unwrap_or(Command::Srun), Some(release));
        Self {
            unsure: more || command.is_none() || options.iter().any(LineOption::is_guessed),
            program: program.into_iter().next(),
            ..Self::of(command, options, release)
        }
    }

    /// The options of a line that was read before; those of its command's variables are in the environment.
    #[must_use]
    pub fn of(command: Option<Command>, options: Vec<LineOption>, release: Release) -> Self {
        Self {
            is_srun: command == Some(Command::Srun),
            command,
            release,
            options,
            program: None,
            unsure: false,
            may_get_more: false,
        }
    }

    /// The options of a script's `#SBATCH` lines, below those of the command line.
    #[must_use]
    pub fn with_script(mut self, script: &str) -> Self {
        let mut options = Vec::new();
        for line in directives(script.as_bytes()) {
            let words = line.words.iter().map(|word| word.text.as_str());
            let words = Self::read("sbatch", words, self.release);
            self.unsure |= words.unsure || line.begins_component;
            options.extend(words.options);
        }
        options.append(&mut self.options);
        self.options = options;
        self
    }

    /// Whether an option is there.
    #[must_use]
    pub fn has(&self, option: &str) -> bool {
        self.options.iter().any(|one| one.name == option)
    }

    /// The value of an option, if it has one; the last counts.
    #[must_use]
    pub fn value(&self, option: &str) -> Option<&str> {
        let options = self.options.iter().rev();
        let mut options = options.filter(|one| one.name == option && one.trouble.is_none());
        options.next()?.value.as_deref()
    }

    /// The error for one of berth's own options that has two values, by both of its names.
    #[must_use]
    pub fn named_twice(&self, own: Own) -> Option<String> {
        own_values::two_values_of(own, &self.options)
    }

    /// srun's reading of the options, with those that it takes from the environment. An option
    /// that the table does not have may belong to another plugin.
    fn request(&self, env: impl Fn(&str) -> Option<String>) -> Option<SrunRequest> {
        let wanted = variables(Command::Srun, self.release).filter(|_| self.is_srun);
        let outer: Vec<_> = wanted
            .filter_map(|(variable, name)| {
                Some(LineOption::by_variable(variable, name, &env(variable)?))
            })
            .collect();
        let own = self.options.iter().filter(|one| one.trouble.is_none());
        read(outer.iter().chain(own), self.release).ok()
    }

    /// CPUs of each task, if the job cannot have more; `None` if that is not sure.
    /// `env` are the environment's variables, some of which are options too.
    #[must_use]
    pub fn most_cpus_per_task(&self, env: impl Fn(&str) -> Option<String>) -> Option<u32> {
        let inputs = ["SBATCH", "SALLOC", "SLURM", "SRUN"];
        let from_env = |option: &str| {
            let name = option.to_ascii_uppercase().replace('-', "_");
            inputs
                .iter()
                .any(|prefix| env(&format!("{prefix}_{name}")).is_some())
        };
        let grows = |option: &str| self.has(option) || from_env(option);
        if self.unsure || self.may_get_more || growing().any(grows) {
            return None;
        }
        Some(self.request(env)?.cpus_per_task.unwrap_or(1))
    }

    /// The requested tasks, if that is known: with a range of nodes it is not.
    #[must_use]
    pub fn tasks(&self, env: impl Fn(&str) -> Option<String>) -> Option<u32> {
        let requested = self.request(env)?;
        let range = |nodes: &NodeRange| nodes.most != Some(nodes.least);
        match requested.ntasks {
            None if requested.nodes.as_ref().is_some_and(range) => None,
            _ => Some(requested.tasks()),
        }
    }

    /// Whether `--cpu-bind=none` leaves the tasks unbound, whatever else the line asks.
    fn is_unbound(&self, env: impl Fn(&str) -> Option<String>) -> bool {
        let mode = self
            .request(env)
            .and_then(|requested| requested.cpu_bind.mode);
        mode == Some(Mode::Free)
    }

    /// Whether words could be misread.
    #[must_use]
    pub fn is_unsure(&self) -> bool {
        self.unsure
    }
}

impl Words {
    /// These words where the partition may give the job more cores than it requests: it is not sure then how many it
    /// has at the most.
    #[must_use]
    pub fn where_jobs_may_get_more(mut self) -> Self {
        self.may_get_more = true;
        self
    }

    /// Whether a new job may get more cores than it requests, in the partitions that the line or a variable names,
    /// else in the default one. Of another cluster nothing is known.
    #[must_use]
    pub fn may_get_more(&self, config: &Config, env: impl Fn(&str) -> Option<String>) -> bool {
        let is_elsewhere =
            self.has("clusters") || self.variables("CLUSTERS").any(|name| env(&name).is_some());
        let typed = self.value("partition").map(String::from);
        // Which of the two holds differs by the command, so that both count.
        let named: Vec<_> = typed
            .into_iter()
            .chain(self.variables("PARTITION").filter_map(|name| env(&name)))
            .filter(|names| !names.is_empty())
            .collect();
        // A reservation can have a partition of its own. Source: `_get_job_parts`.
        let has_reservation = self.has("reservation")
            || self
                .variables("RESERVATION")
                .any(|name| env(&name).is_some());
        let is_elsewhere = is_elsewhere || has_reservation && named.is_empty();
        let names = named.join(",");
        let names = Some(names.as_str()).filter(|names| !names.is_empty());
        is_elsewhere || config.may_give_more(names, self.release.modelled())
    }

    /// The variables from which the command takes an option. Source: `env_vars` in the `opt.c` of each command.
    fn variables(&self, option: &str) -> impl Iterator<Item = String> {
        let prefixes: &[&str] = match (self.command, option) {
            (Some(Command::Sbatch), "CLUSTERS") => &["SBATCH", "SLURM"],
            (Some(Command::Sbatch), _) => &["SBATCH"],
            (Some(Command::Salloc), "CLUSTERS") => &["SALLOC", "SLURM"],
            (Some(Command::Salloc), _) => &["SALLOC"],
            (Some(Command::Srun) | None, _) => &["SLURM"],
        };
        prefixes
            .iter()
            .map(move |prefix| format!("{prefix}_{option}"))
    }
}
