//! Which rule decided a plan, in the words of logs and explanations.

use std::fmt;

use crate::request::cpu_bind::Level;
use crate::request::distribution::Order;

/// The rule that decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// `--cpu-bind=none`; on part of a host the step's CPUs are the mask all the same.
    Free {
        /// The step owns the whole host.
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
        chosen: Chosen,
    },
    /// No level fits the step's CPUs exactly: every task may use all of them.
    NoMatch,
    /// More asked than there is, with `--overcommit`: the same.
    Overcommit,
    /// Grid Engine's core binding.
    Binding(String),
    /// A `--binding` that could not be had.
    BindingFailed,
    /// A batch script: all CPUs of its allocation.
    Batch,
}

/// Who chose a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chosen {
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
            Self::Free { whole: true } => f.write_str("none"),
            Self::Free { whole: false } => f.write_str("none:own-cpus"),
            Self::Asked(word) => f.write_str(word),
            Self::Level {
                level,
                order,
                chosen,
            } => {
                let by = match chosen {
                    Chosen::Asked => "",
                    Chosen::Exact => "auto:",
                    Chosen::Site => "autobind:",
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
