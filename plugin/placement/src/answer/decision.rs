//! Why a plan is as it is: the rule that decided, what was tried before, what the step owns.
//! Logs, explanations and shadow put this into words; nobody works it out a second time. Pure data.

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
    /// CPUs asked for by all tasks together.
    pub wanted: u64,
    /// `-c` as it could be served.
    pub cpus_per_task: u32,
    /// What the step owns whole and in part.
    pub owned: Counts,
    /// The step's CPUs, as a task bound to all of them gets them.
    pub own: crate::CpuSet,
}

/// The rule that decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// `--cpu-bind=none`; on part of a node the step's CPUs are the mask all the same.
    Unbound {
        /// The step owns the whole node.
        whole: bool,
    },
    /// A list or number of the user's.
    Asked(&'static str),
    /// Tasks placed on objects of a level.
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
    /// More asked than there is, with `--overcommit`: the same.
    Overcommit,
    /// Grid Engine's core binding.
    Binding(Binding),
    /// A `--binding` that could not be had.
    BindingFailed,
    /// A batch script: all CPUs of its allocation.
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
            Self::Binding(binding) => write!(f, "binding:{binding}"),
            Self::BindingFailed => f.write_str("binding-failed:own-cpus"),
            Self::Batch => f.write_str("batch:own-cpus"),
        }
    }
}
