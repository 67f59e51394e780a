//! What holds where a request itself says nothing: berth's own options of its job's line or of a
//! variable, and the binding that slurmctld takes from the job's nodes and partition.

use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;

use berth_placement::{Binding, Mapping};
use berth_srun::conf::Config;
use berth_srun::submission::by_default::{
    self, BIND_TO, BINDING, CONFINE, CORE_KIND, CPUSET, MAP_BY, NEAR, Names, POOL, RANK_BY, Typed,
};

use crate::args::MappingArgs;
use crate::lines::job::JobLine;
use crate::question::{ByDefault, GivenBy, Question};
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
        let names = own_options().find(|names| names.routed == variable)?;
        self.job.as_ref()?.own(names.option)
    }

    /// A variable as srun finds it. The job's command has set some, and has removed those that its own
    /// options override.
    fn variable(&self, args: &Question, name: &str) -> Option<String> {
        let outer = |names: &&Names| names.inherited().contains(&name);
        let set_by_jobs = own_options().find(outer);
        let (Some(job), Some(names)) = (&self.job, set_by_jobs) else {
            return args.variable(name);
        };
        let typed = own_options().filter_map(|one| Some(Typed::of(one, job.own(one.option)?)));
        let typed: Vec<_> = typed.collect();
        if !by_default::counts_beside(names, &typed) {
            return self.of_job(name).map(String::from);
        }
        args.variable(name)
    }
}

/// Every option of berth's own.
fn own_options() -> impl Iterator<Item = &'static Names> {
    by_default::ALL.into_iter().chain([&CPUSET])
}

/// A typed value as it is written.
fn text(value: Option<&impl Display>) -> Option<String> {
    value.map(ToString::to_string)
}

impl Question {
    /// Finds berth's own options that the request does not have, as srun and slurmd do: an outer
    /// command's option overrides the user's default, and among defaults the innermost one holds.
    ///
    /// # Errors
    /// A text that cannot be read, or options that do not go together.
    pub(crate) fn find_own(&mut self) -> Result<(), String> {
        let typed = self.typed.mapping.0.take().unwrap_or_default();
        let has = [
            (&BINDING, text(self.typed.binding.as_ref())),
            (&MAP_BY, text(typed.map.as_ref())),
            (&RANK_BY, text(typed.rank.as_ref())),
            (&BIND_TO, text(typed.bind.as_ref())),
            (&CORE_KIND, text(self.typed.core_kind.as_ref())),
            (&CPUSET, text(self.typed.cpuset.asked.as_ref())),
            (&NEAR, text(self.typed.near.as_ref())),
            (&CONFINE, text(self.typed.confine.as_ref())),
            (&POOL, text(self.typed.pool.as_ref())),
        ];
        let has = has.into_iter();
        let around = Around {
            typed: has
                .filter_map(|(one, value)| Some(Typed::of(one, &value?)))
                .collect(),
            job: self.job_line().and_then(Result::ok),
        };
        self.defaults = Vec::new();
        let mapping = Mapping::of(
            self.or_default(typed.map, &MAP_BY, &around)?,
            self.or_default(typed.rank, &RANK_BY, &around)?,
            self.or_default(typed.bind, &BIND_TO, &around)?,
        );
        let first = self.defaults.first();
        let source = first.map_or(String::new(), |first| format!("{}: ", first.by));
        self.typed.mapping = MappingArgs(mapping.map_err(|why| format!("{source}{why}"))?);
        let binding = self.typed.binding.take();
        self.typed.binding = self.or_default(binding, &BINDING, &around)?;
        let near = self.typed.near.take();
        self.typed.near = self.or_default(near, &NEAR, &around)?;
        let cpuset = self.typed.cpuset.asked.take();
        self.typed.cpuset.asked = self.or_default(cpuset, &CPUSET, &around)?;
        let kind = self.typed.core_kind.take();
        self.typed.core_kind = self.or_default(kind, &CORE_KIND, &around)?;
        let confine = self.typed.confine.take();
        self.typed.confine = self.or_default(confine, &CONFINE, &around)?;
        let pool = self.typed.pool.take();
        self.typed.pool = self.or_default(pool, &POOL, &around)?;
        Ok(())
    }

    /// An option as it is typed, else as the job's line or a variable has it.
    fn or_default<T: FromStr<Err: Display> + Display>(
        &mut self,
        typed: Option<T>,
        own: &Names,
        around: &Around,
    ) -> Result<Option<T>, String> {
        if typed.is_some() {
            return Ok(typed);
        }
        let found = by_default::value(own, &around.typed, |name| around.variable(self, name));
        let Some((name, text)) = found else {
            return Ok(None);
        };
        let by = match around.of_job(name) {
            Some(_) => GivenBy::Job,
            None => GivenBy::Variable(name),
        };
        let read = text.parse::<T>().map_err(|why| format!("{by}: {why}"))?;
        self.defaults.push(ByDefault {
            by,
            name: own.option,
            text: read.to_string(),
        });
        Ok(Some(read))
    }

    /// A variable before the line's command, or of the environment where the line would be typed.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        let mut pairs = self.line_variables.iter();
        let on_line = pairs.rfind(|pair| {
            let known = pair.split_once('=').map(|(known, _)| known);
            known == Some(name)
        });
        let is_live = self.machine == LIVE && self.cluster.as_deref() == Some(LIVE);
        let counts = self.standing.is_here || is_live;
        match on_line.and_then(|pair| pair.split_once('=')) {
            Some((_, value)) => Some(value.into()),
            None => counts.then(|| self.standing.variable(name)).flatten(),
        }
    }

    /// The `--binding` for a batch script; the site's default is for steps alone.
    pub(super) fn script_binding(&self) -> Option<Binding> {
        self.binding.clone().filter(|_| !self.is_binding_off())
    }

    /// The same request with the default binding of the nodes of its job.
    pub(super) fn bound_as(&self, nodes: &[String]) -> Option<Self> {
        let of_node = self.config_of_node();
        let config = self.config().or(of_node.as_deref())?;
        let partition = self.partition();
        let nodes = nodes.iter().map(String::as_str);
        let found = config.default_bind(partition.as_deref(), nodes)?;
        Some(Self {
            bind_of_job: Some(found),
            ..self.clone()
        })
    }

    /// The configuration of the node on which the command runs, for a plan on it.
    pub(super) fn config_of_node(&self) -> Option<Arc<Config>> {
        let found = self.standing.config_of_node.clone();
        found.filter(|_| self.standing.is_here)
    }

    /// The partition of jobs that name none, where the configuration is known.
    pub(super) fn default_partition(&self) -> Option<String> {
        let of_node = self.config_of_node();
        let config = self.config().or(of_node.as_deref())?;
        config.default_partition().map(String::from)
    }

    /// The partition of the request's job: that of its line, or of the job around it.
    pub(super) fn partition(&self) -> Option<String> {
        if let Some(job) = self.job_line() {
            return job.ok()?.wanted.partition.clone();
        }
        if self.standing.job.is_some() {
            return self.standing.variable("SLURM_JOB_PARTITION");
        }
        let mut kept = self.srun.kept().iter();
        kept.rfind(|kept| kept.name == "partition")?.value.clone()
    }
}
