//! The decision behind a plan: the rule that decided, what was tried before, what the step owns.
//! Logs, explanations and shadow put it into words, and derive nothing a second time. Pure data.

use std::fmt;

use crate::owned::Counts;
use crate::request::cpu_bind::Level;
use crate::request::distribution::Order;
use crate::request::grid_engine::Binding;

/// The decision behind a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The rule that decided.
    pub rule: Rule,
    /// Levels that automatic binding tried before, and whose objects did not fit exactly.
    pub tried: Vec<Level>,
    /// The CPUs that all tasks together request.
    pub wanted: u64,
    /// The `-c` that was served.
    pub cpus_per_task: u32,
    /// What the step owns whole and in part.
    pub owned: Counts,
    /// The CPUs of a task that is bound to all of the step's CPUs.
    pub own: crate::CpuSet,
}

/// The rule that decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// `--cpu-bind=none`; on a part of a node the mask is all of the step's CPUs.
    Unbound {
        /// The step owns the whole node.
        whole: bool,
    },
    /// The user named the CPUs, or chose `rank`.
    Asked(&'static str),
    /// Tasks are placed on objects of a level.
    Level {
        /// The level bound to.
        level: Level,
        /// Order over sockets.
        order: Order,
        /// Who chose the level.
        from: LevelFrom,
    },
    /// No level fits the step's CPUs exactly: every task may use all of them.
    NoMatch,
    /// More is requested than exists, with `--overcommit`: every task may use all of the CPUs.
    Overcommit,
    /// The step's cgroup has fewer CPUs than Slurm granted and the tasks need: every task may use all
    /// of them.
    CgroupTooSmall,
    /// Grid Engine's core binding.
    Binding(Binding),
    /// A `--binding` could not be served.
    BindingFailed,
    /// A batch script gets all CPUs of its allocation.
    Batch,
}

/// Who chose a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelFrom {
    /// The user, or a default of job, node or partition.
    Asked,
    /// Tasks × CPUs fill whole objects of it exactly.
    Exact,
    /// `TaskPluginParam=autobind=`.
    Site,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unbound { whole: true } => f.write_str("none"),
            Self::Unbound { whole: false } => f.write_str("none:own-cpus"),
            Self::Asked(word) => f.write_str(word),
            Self::Level { level, order, from } => {
                let by = match from {
                    LevelFrom::Asked => "",
                    LevelFrom::Exact => "auto:",
                    LevelFrom::Site => "autobind:",
                };
                write!(f, "{by}{level}:{order}")
            }
            Self::NoMatch => f.write_str("auto:own-cpus"),
            Self::Overcommit => f.write_str("overcommit:own-cpus"),
            Self::CgroupTooSmall => f.write_str("cgroup-too-small:own-cpus"),
            Self::Binding(binding) => write!(f, "binding:{binding}"),
            Self::BindingFailed => f.write_str("binding-failed:own-cpus"),
            Self::Batch => f.write_str("batch:own-cpus"),
        }
    }
}
