//! What holds where a request itself says nothing: berth's own options of its job's line or of a
//! variable, and the binding that slurmctld takes from the job's nodes and partition.

use std::sync::Arc;

use berth_placement::{Binding, Mapping};
use berth_srun::options::{Choice, Own};
use berth_srun::submission::own_values;
use berth_srun::submission::own_values::Typed;
use berth_srun::{Config, LineOption};

use crate::args::{SrunOptions, set_on_line};
use crate::lines::job::JobLine;
use crate::question::{ByDefault, DefaultSource, Question};
use crate::world::LIVE;

/// What stands around a request that an option of berth's own can come from.
struct Around {
    /// The options that the request has itself.
    typed: Vec<Typed>,
    job: Option<Arc<JobLine>>,
}

impl Around {
    /// What the job's line sets for its steps, by the name of Slurm's variable.
    fn of_job(&self, variable: &str) -> Option<&str> {
        let own = Own::ALL.into_iter().find(|own| own.routed == variable)?;
        self.job.as_ref()?.own(own.name)
    }

    /// A variable as srun finds it. The job's command has set some, and has removed those that its own
    /// options override.
    fn variable(&self, args: &Question, name: &str) -> Option<String> {
        let mut all = Own::ALL.into_iter();
        let set_by_jobs = all.find(|own| own.inherited().contains(&name));
        let (Some(job), Some(own)) = (&self.job, set_by_jobs) else {
            return args.variable(name);
        };
        let typed = |one: Own| Some(Typed::of(one, job.own(one.name)?));
        let typed: Vec<_> = Own::ALL.into_iter().filter_map(typed).collect();
        if !own_values::counts_beside(own, &typed) {
            return self.of_job(name).map(String::from);
        }
        args.variable(name)
    }
}

impl Question {
    /// Finds berth's own options that the request does not have, as srun and slurmd do: an outer
    /// command's option overrides the user's default, and among defaults the innermost one holds.
    ///
    /// # Errors
    /// A text that cannot be read, or options that do not go together.
    pub(crate) fn find_own(&mut self) -> Result<(), String> {
        let typed = |own| Some(Typed::of(own, &self.typed.text(own)?));
        let around = Around {
            typed: Own::ALL.into_iter().filter_map(typed).collect(),
            job: self.job_line().and_then(Result::ok),
        };
        self.defaults = Vec::new();
        for own in Own::ALL {
            if self.typed.text(own).is_none() {
                self.take_default(own, &around)?;
            }
        }
        let typed = self.typed.mapping.take().unwrap_or_default();
        let is_mappings = |one: &&ByDefault| one.own.choice == Choice::Mapping;
        let first = self.defaults.iter().find(is_mappings);
        let source = first.map_or(String::new(), |first| format!("{}: ", first.by));
        let mapping = Mapping::of(typed.map, typed.rank, typed.bind);
        self.typed.mapping = mapping.map_err(|why| format!("{source}{why}"))?;
        Ok(())
    }

    /// Sets an option as the job's line or a variable has it.
    fn take_default(&mut self, own: Own, around: &Around) -> Result<(), String> {
        let found = own_values::value(own, &around.typed, |name| around.variable(self, name));
        let Some((name, text)) = found else {
            return Ok(());
        };
        let by = match around.of_job(name) {
            Some(_) => DefaultSource::Job,
            None => DefaultSource::Variable(name),
        };
        let read = self.typed.set(own, &text);
        read.map_err(|why| format!("{by}: {why}"))?;
        let text = self.typed.text(own).unwrap_or_default();
        self.defaults.push(ByDefault { by, own, text });
        Ok(())
    }

    /// A variable before the line's command, or of the environment where the line would be typed.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        let is_live = self.machine == LIVE && self.cluster.as_deref() == Some(LIVE);
        let counts = self.standing.is_here || is_live;
        let around = || self.standing.variable(name).filter(|_| counts);
        set_on_line(&self.line_variables, name).or_else(around)
    }

    /// The `--binding` for a batch script; the site's default is for steps alone.
    pub(super) fn script_binding(&self) -> Option<Binding> {
        self.binding.clone().filter(|_| !self.is_binding_off())
    }

    /// This request without a `-c` that srun has taken over from its job.
    pub(super) fn without_cpus_of_job(&self) -> Self {
        let is_jobs = |kept: &&LineOption| kept.is_jobs && kept.name == "cpus-per-task";
        let own = self.srun.options().iter().filter(|kept| !is_jobs(kept));
        let srun = SrunOptions::read(own.cloned().collect(), self.srun.release);
        Self {
            srun: srun.unwrap_or_else(|_| self.srun.clone()),
            ..self.clone()
        }
    }

    /// This request with the default binding of its job's nodes; `None` if no configuration has one.
    pub(super) fn bound_as(&self, nodes: &[String]) -> Option<Self> {
        let config = self.known_config()?;
        let partition = self.partition();
        let nodes = nodes.iter().map(String::as_str);
        let found = config.default_bind(partition.as_deref(), nodes)?;
        Some(Self {
            bind_of_job: Some(found),
            ..self.clone()
        })
    }

    /// The configuration of the cluster that is asked about, else of this node's.
    pub(super) fn known_config(&self) -> Option<&Config> {
        let of_node = self.standing.config_of_node.as_deref();
        self.config().or(of_node.filter(|_| self.standing.is_here))
    }

    /// The partition of jobs that name none, where the configuration is known.
    pub(super) fn default_partition(&self) -> Option<String> {
        self.known_config()?.default_partition().map(String::from)
    }

    /// The partition of the request's job: that of its line, or of the job around it.
    pub(super) fn partition(&self) -> Option<String> {
        if let Some(job) = self.job_line() {
            return job.ok()?.wanted.partition.clone();
        }
        if self.standing.job.is_some() {
            return self.standing.variable("SLURM_JOB_PARTITION");
        }
        let mut kept = self.srun.options().iter();
        kept.rfind(|kept| kept.name == "partition")?.value.clone()
    }
}
