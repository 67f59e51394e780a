//! Why a mapping cannot be served on this node, and what it does not give although it is served. Each text states what
//! was requested, what was found and what to do. Pure data.

use derive_more::Display;

use crate::request::cpu_bind::ObjectKind;
use crate::request::mapping::level_word;
use crate::sets::text::{counted, either};

/// A mapping that cannot be served.
#[derive(Clone, Debug, PartialEq, Eq, Display)]
pub enum MappingRefusal {
    /// The machine tree is unknown.
    #[display(
        "berth does not know the objects of this node, because its machine file is missing; use \
         --cpu-bind=cores or --cpu-bind=sockets, and ask the administrator to run `berth discover`"
    )]
    NoTree,
    /// The machine has no object of a level.
    #[display(
        "this node has no {}; it has {}; name one of those",
        level_word(*requested),
        there.iter().map(|kind| level_word(*kind)).collect::<Vec<_>>().join(", ")
    )]
    NoLevel {
        /// The level.
        requested: ObjectKind,
        /// The levels that there are.
        there: Vec<ObjectKind>,
    },
    /// There are more tasks than places.
    #[display("{}", too_many(*tasks, *fits, *short, *among))]
    TooMany {
        /// Tasks on this node.
        tasks: u32,
        /// The largest number that fits.
        fits: u32,
        /// The resource that is short.
        short: Short,
        /// Which tasks are counted.
        among: Among,
    },
    /// A number of `pe-list=` that the share does not have.
    #[display(
        "the list names CPU {requested}; this step has {count} {} on this node; their numbers are 0 to {}, whatever \
         the kernel calls them; name only those",
        if *threads { "hardware threads" } else { "cores" },
        count.saturating_sub(1)
    )]
    NoSuchCpu {
        /// The number.
        requested: u32,
        /// The CPUs of the share.
        count: u32,
        /// Whether CPUs are hardware threads.
        threads: bool,
    },
    /// The CPUs of `pe-list=` lie in several packages.
    #[display(
        "the CPUs of the list lie in several packages, and every task gets all of them; name CPUs of one \
         package, or add :ordered to give each task one entry"
    )]
    TwoPackages,
}

/// Which tasks are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Among {
    /// All on the node.
    Node,
    /// Beside a `--near` those whose devices have the same place.
    SameDevices,
}

/// A resource that is too short for all tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Short {
    /// CPUs that no other task has.
    Cpus,
    /// N of `ppr:N:LEVEL`.
    PerObject,
    /// N of `limit=N`.
    Limit,
    /// CPUs of `pe-list=`.
    List,
}

fn too_many(tasks: u32, fits: u32, short: Short, among: Among) -> String {
    let fit = either(&fits, "fits", "fit");
    let smaller = match short {
        Short::PerObject => "N or pe=",
        Short::Cpus | Short::Limit | Short::List => "pe=",
    };
    match (among, tasks, fits) {
        (Among::Node, _, 0) => {
            let none = match tasks {
                1 => "the task on this node does not fit".into(),
                _ => format!("not one of the {tasks} tasks on this node fits"),
            };
            format!("{none}; use a smaller {smaller}, a wider level, or a larger allocation")
        }
        (Among::Node, ..) => format!(
            "{tasks} tasks are on this node, and {fits} of them {fit}; use at most {} on this node, or {}",
            counted(fits, "task"),
            instead(short)
        ),
        // How many of all tasks would fit is not known.
        (Among::SameDevices, 1, 0) => {
            "a task on this node does not fit next to its devices; use a smaller pe=, or a \
             larger allocation"
                .into()
        }
        (Among::SameDevices, _, 0) => format!(
            "none of the {tasks} tasks next to the same devices on this node fits there; use a smaller pe=, or a \
             larger allocation"
        ),
        (Among::SameDevices, ..) => format!(
            "{tasks} tasks are next to the same devices on this node, and {fits} of them {fit} there; use fewer \
             tasks, or {}",
            instead(short)
        ),
    }
}

/// Advice other than fewer tasks.
fn instead(short: Short) -> &'static str {
    match short {
        Short::Cpus => "let them share CPUs with :overload-allowed behind --bind-to",
        Short::PerObject => "a larger N in ppr:N:LEVEL",
        Short::Limit => "a larger limit= behind --bind-to",
        Short::List => "name more CPUs in the list",
    }
}

/// A part of a mapping that is not given.
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
        /// Its CPUs.
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
