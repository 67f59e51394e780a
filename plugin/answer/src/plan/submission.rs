//! Refusals of the submitting command, by its own functions, before slurmctld sees the line: a request that can
//! never fit, and a cpuset inside a job that has another one.
//! In: a request. Out: the refusal, if it is sure.

use berth_placement::{Node, near_beside_cpuset};
use berth_srun::options::{Command as Program, Own};
use berth_srun::submission::{Words, cpuset, never_fits};

use super::controller::{OnlyJob, only_job, own_options};
use super::gpu_options::cpus_for_gpus;
use super::owns::uses_controller;
use crate::question::{DefaultSource, Question};

/// The refusal of a request. On cores that an option names the request is no line of a job.
pub(super) fn refused(args: &Question, on: &Node) -> Option<String> {
    let is_inside = args.job.is_some() || args.context.job.is_some();
    let (program, words) = args.line_words()?;
    let why = match () {
        () if args.only_job || !is_inside && uses_controller(args) => {
            let words = match args.jobs_may_get_more(&words) {
                true => words.where_jobs_may_get_more(),
                false => words,
            };
            args.never_fits(&words)?
        }
        () if is_inside => {
            let other = args.other_cpuset();
            other.or_else(|| args.never_fits_in_job(&words, on))?
        }
        () => return None,
    };
    Some(format!("{} refuses the line: {why}", program.name()))
}

/// The CPUs that slurmctld counts for the job of `--job`, on all its nodes; none if it does not start, or if the
/// number is not sure: the model gives no CPUs for memory.
pub fn job_cpus(args: &Question, on: &Node) -> Option<u32> {
    sure_job(args, on).map(|job| job.cpus())
}

fn sure_job(args: &Question, on: &Node) -> Option<OnlyJob> {
    let config = args.known_config();
    let counts_memory =
        config.is_some_and(|config| config.counts_memory(args.partition().as_deref()));
    if counts_memory || cpus_for_gpus(args).is_some() {
        return None;
    }
    only_job(args, on, args.job_line()?.ok()?).ok()
}

impl Question {
    /// The command of the line with its options.
    fn line_words(&self) -> Option<(Program, Words)> {
        let (program, mut given) = match self.only_job {
            true => {
                let job = self.job()?;
                (job.program, job.options.clone())
            }
            false => (Program::Srun, own_options(self)),
        };
        given.retain(|one| one.variable.is_none());
        let words = Words::of(Some(program), given, self.srun.release);
        Some((program, words))
    }

    /// Whether a new job may get more cores than it requests. Where no cluster is known, jobs get cores.
    fn jobs_may_get_more(&self, words: &Words) -> bool {
        if let Some(select) = &self.select {
            let select = select.to_ascii_lowercase();
            return self.gives_whole_nodes()
                || !["cr_core", "cr_cpu"].iter().any(|one| select.contains(one));
        }
        let config = self.known_config();
        // Those that a script sets stand with its options alone.
        let given = |name: &str| {
            let mut options = self.srun.options().iter();
            let given = options.rfind(|one| one.variable.as_deref() == Some(name));
            given?.value.clone()
        };
        let variable = |name: &str| given(name).or_else(|| self.variable(name));
        self.gives_whole_nodes()
            || config.is_some_and(|config| words.may_get_more(config, variable))
    }

    /// Why a new job can never have what it requests.
    fn never_fits(&self, words: &Words) -> Option<String> {
        let variable = |name: &str| self.variable(name);
        let near = self.near.as_ref().filter(|_| !self.is_near_by_default());
        let both = near.zip(self.cpuset.as_ref());
        if let Some(why) = both.and_then(|(near, set)| near_beside_cpuset(near, set)) {
            return Some(why.to_string());
        }
        let set = self.cpuset.as_ref();
        let set = set.and_then(|set| cpuset::never_fits(set, words, variable));
        self.cores_never_fit(words, &variable)
            .or_else(|| Some(self.sourced(Own::Cpuset, set?)))
    }

    /// Why a step can never have what it requests in its job.
    fn never_fits_in_job(&self, words: &Words, on: &Node) -> Option<String> {
        if self.binding.is_none() && self.mapping.is_none() || !uses_controller(self) {
            return None;
        }
        let job = match self.job.is_some() {
            true => Some(sure_job(self, on)?),
            false => None,
        };
        let cpus = job
            .as_ref()
            .map(|job| self.usable(job.cpus(), on).to_string());
        let tasks = job.and_then(|job| job.tasks_given);
        let passed = |name: &str| {
            let mut options = self.srun.options().iter();
            let found = options.rfind(|one| one.is_jobs && one.variable.as_deref() == Some(name));
            found.map(|one| one.value.clone().unwrap_or_default())
        };
        let variable = |name: &str| match (name, &cpus) {
            ("SLURM_JOB_ID", Some(_)) => Some("1".into()),
            ("SLURM_JOB_CPUS_PER_NODE", Some(cpus)) => Some(cpus.clone()),
            ("SLURM_NTASKS", Some(_)) => Some(tasks?.to_string()),
            _ => passed(name).or_else(|| self.variable(name)),
        };
        self.cores_never_fit(words, &variable)
    }

    /// Of the CPUs of the job's cores those whose threads it uses.
    fn usable(&self, cpus: u32, on: &Node) -> u32 {
        let each = on.shape().threads.max(1);
        let used = self
            .job()
            .and_then(|job| job.selection.options.threads_per_core);
        match used.filter(|used| *used < each) {
            Some(used) => cpus / each * used,
            None => cpus,
        }
    }

    fn cores_never_fit(
        &self,
        words: &Words,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Option<String> {
        let binding = self.binding.as_ref();
        let binding = binding.and_then(|binding| never_fits::why(binding, words, variable));
        let mapping = self.mapping.as_ref();
        let mapping = || never_fits::mapping(mapping?, words, variable);
        binding
            .map(|why| self.sourced(Own::Binding, why))
            .or_else(|| Some(self.sourced(Own::MapBy, mapping()?)))
    }

    /// A reason with the variable that the option comes from.
    fn sourced(&self, own: Own, why: String) -> String {
        let by_variable = self.defaults.iter().find_map(|one| match one.by {
            DefaultSource::Variable(name) if one.own == own => Some(name),
            _ => None,
        });
        match by_variable {
            Some(name) => format!("{name}: {why}"),
            None => why,
        }
    }

    /// Why a cpuset of the step itself is refused: its job has another one.
    fn other_cpuset(&self) -> Option<String> {
        let is_own = !self.defaults.iter().any(|one| one.own == Own::Cpuset);
        let own = self.cpuset.as_ref().filter(|_| is_own)?;
        let of_job = match self.job_line() {
            Some(job) => job.ok()?.own(Own::Cpuset.name).map(String::from),
            None => [Own::Cpuset.routed_sure, Own::Cpuset.routed]
                .into_iter()
                .find_map(|name| self.variable(name)),
        };
        cpuset::other_than_job(&own.to_string(), &of_job?)
    }
}
