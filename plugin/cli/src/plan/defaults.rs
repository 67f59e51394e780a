//! What holds where a request itself says nothing: berth's own options of its job's line or of a
//! variable, and the binding that slurmctld takes from the job's nodes and partition.

use std::env;
use std::fmt::{self, Display};
use std::str::FromStr;

use berth_placement::{Binding, Mapping};
use berth_srun::submission::by_default::{self, Names};

use super::job_line::{self, JobLine};
use crate::args::{MappingArgs, PlanArgs};
use crate::here::{LIVE, cluster};

/// An option of berth's own: its name, and its variables.
type Own = (&'static str, &'static Names);

const BINDING: Own = ("binding", &by_default::BINDING);
const MAP_BY: Own = ("map-by", &by_default::MAP_BY);
const RANK_BY: Own = ("rank-by", &by_default::RANK_BY);
const BIND_TO: Own = ("bind-to", &by_default::BIND_TO);

/// What gives an option of berth's own that the request does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GivenBy {
    /// A variable, by its name.
    Variable(&'static str),
    /// The line of the job around it.
    Job,
}

impl Display for GivenBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Variable(name) => name,
            Self::Job => "--job",
        })
    }
}

/// An option of berth's own that the request does not have itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ByDefault {
    pub by: GivenBy,
    /// The option's name.
    pub name: &'static str,
    pub text: String,
}

impl PlanArgs {
    /// Finds berth's own options that the request does not have, as srun and slurmd do: an outer
    /// command's option overrides the user's default, and among defaults the innermost one holds.
    ///
    /// # Errors
    /// A text that cannot be read, or options that do not go together.
    pub(super) fn find_own(&mut self) -> Result<(), String> {
        let typed = self.mapping.0.take().unwrap_or_default();
        let maps = typed != Mapping::default();
        let is_bare = !maps && self.binding.is_none() && self.near.is_none();
        let line = self.job.as_deref();
        let job = line.and_then(|line| job_line::read(line, self.srun.release).ok());
        let job = job.as_ref();
        self.defaults = Vec::new();
        // What is typed overrides every other wish that a variable or a job has.
        let mapping = match is_bare || maps {
            true => Mapping {
                map: self.or_default(typed.map, MAP_BY, job)?,
                rank: self.or_default(typed.rank, RANK_BY, job)?,
                bind: self.or_default(typed.bind, BIND_TO, job)?,
            },
            false => typed,
        };
        let mapping = Mapping::of(mapping.map, mapping.rank, mapping.bind);
        let first = self.defaults.first();
        let source = first.map_or(String::new(), |first| format!("{}: ", first.by));
        self.mapping = MappingArgs(mapping.map_err(|why| format!("{source}{why}"))?);
        if is_bare {
            self.binding = self.or_default(None::<Binding>, BINDING, job)?;
        }
        Ok(())
    }

    /// An option as it is typed, else as the job's line or a variable has it.
    fn or_default<T: FromStr<Err: Display> + Display>(
        &mut self,
        typed: Option<T>,
        own: Own,
        job: Option<&JobLine>,
    ) -> Result<Option<T>, String> {
        if typed.is_some() {
            return Ok(typed);
        }
        let of_job = job.and_then(|job| job.own(own.0));
        let of_job = of_job.map(|text| (GivenBy::Job, text.to_string()));
        let of_variable = || {
            let found = by_default::value(own.1, |name| self.variable(name));
            found.map(|(name, text)| (GivenBy::Variable(name), text))
        };
        let Some((by, text)) = of_job.or_else(of_variable) else {
            return Ok(None);
        };
        let read = text.parse::<T>().map_err(|why| format!("{by}: {why}"))?;
        self.defaults.push(ByDefault {
            by,
            name: own.0,
            text: read.to_string(),
        });
        Ok(Some(read))
    }

    /// A variable before the line's command, or of the environment where the line would be typed.
    fn variable(&self, name: &str) -> Option<String> {
        let mut pairs = self.line_variables.iter();
        let on_line = pairs.rfind(|pair| {
            let known = pair.split_once('=').map(|(known, _)| known);
            known == Some(name)
        });
        let is_live = self.machine == LIVE && self.cluster.as_deref() == Some(cluster::LIVE);
        let counts = self.standing.is_here() || is_live;
        match on_line.and_then(|pair| pair.split_once('=')) {
            Some((_, value)) => Some(value.into()),
            None => counts.then(|| env::var(name).ok()).flatten(),
        }
    }

    /// The `--binding` for a batch script; the site's default is for steps alone.
    pub(super) fn script_binding(&self) -> Option<Binding> {
        self.binding.clone().filter(|_| !self.is_binding_off())
    }

    /// The same request with the default binding of the nodes of its job.
    pub(super) fn bound_as(&self, nodes: &[String]) -> Option<Self> {
        let here = || self.standing.node.and_then(|_| cluster::of_this_node());
        let of_node = here().filter(|_| self.standing.is_here());
        let config = self.config().or(of_node.as_deref())?;
        let partition = self.partition();
        let nodes = nodes.iter().map(String::as_str);
        let found = config.default_bind(partition.as_deref(), nodes)?;
        Some(Self {
            bind_of_job: Some(found),
            ..self.clone()
        })
    }

    /// The partition of the request's job: that of its line, or of the job around it.
    pub(super) fn partition(&self) -> Option<String> {
        let of_line = |line: &str| {
            let read = job_line::read(line, self.srun.release);
            read.ok()?.wanted.partition
        };
        if let Some(line) = &self.job {
            return of_line(line);
        }
        if self.standing.job.is_some() {
            return env::var("SLURM_JOB_PARTITION").ok();
        }
        let mut kept = self.srun.kept().iter();
        kept.rfind(|kept| kept.name == "partition")?.value.clone()
    }
}
