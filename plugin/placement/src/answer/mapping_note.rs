//! What a mapping does not give although it is served. Each text states what was requested, what was
//! found and what to do.

use crate::sets::count::{counted, either};

/// What a mapping does not give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MappingNote {
    /// Nothing is bound, because there are more tasks than CPUs.
    Unbound {
        /// Tasks on this node.
        tasks: u32,
        /// CPUs of the step.
        own: u32,
        /// Whether a CPU is a hardware thread, and not a core.
        threads: bool,
    },
    /// Some tasks find no object to be bound to.
    SomeUnbound {
        /// Tasks on this node.
        tasks: u32,
        /// Those that stay unbound.
        unbound: u32,
    },
    /// A task has fewer CPUs than `-c`.
    Short {
        /// The task, by its number on this node.
        task: u32,
        /// `-c`.
        wanted: u32,
        /// What it gets.
        given: u32,
    },
}

impl MappingNote {
    /// This note about a group of tasks, with the task's number on the node. `tasks` has the number of each task of the
    /// group.
    pub(crate) fn of_group(self, tasks: &[u32]) -> Self {
        match self {
            Self::Short {
                task,
                wanted,
                given,
            } => Self::Short {
                task: tasks.get(task as usize).copied().unwrap_or(task),
                wanted,
                given,
            },
            other => other,
        }
    }

    /// One note for two groups of tasks, where one is enough.
    pub(crate) fn with(self, other: Self) -> Option<Self> {
        match (self, other) {
            (
                Self::SomeUnbound { tasks, unbound },
                Self::SomeUnbound {
                    unbound: others, ..
                },
            ) => Some(Self::SomeUnbound {
                tasks,
                unbound: unbound + others,
            }),
            // The task with the fewest CPUs, and of several the first.
            (
                Self::Short {
                    task, given: least, ..
                },
                Self::Short {
                    task: later, given, ..
                },
            ) => Some(match (given, later) < (least, task) {
                true => other,
                false => self,
            }),
            (one, other) => (one == other).then_some(one),
        }
    }

    /// Its text about the options `requested`.
    pub(super) fn about(&self, requested: &str) -> String {
        match *self {
            Self::Unbound {
                tasks,
                own,
                threads,
            } => format!(
                "{requested} binds none of the {} on this node, because the step has too few CPUs for it here ({}); use \
                 fewer tasks, or name with --bind-to what to bind to",
                counted(tasks, "task"),
                counted(own, if threads { "hardware thread" } else { "core" })
            ),
            Self::SomeUnbound { tasks, unbound } => format!(
                "{requested}: {unbound} of the {} on this node {} no free object and may use all CPUs of \
                 the step; use fewer tasks, or another --bind-to",
                counted(tasks, "task"),
                either(&unbound, "finds", "find")
            ),
            Self::Short {
                task,
                wanted,
                given,
            } => format!(
                "-c {wanted} is requested, but {requested} gives task {task} on this node {}; -c never \
                 becomes pe=: add :pe=N, or bind to a wider level",
                counted(given, "CPU")
            ),
        }
    }
}
