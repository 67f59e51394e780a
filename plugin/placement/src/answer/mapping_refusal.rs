//! Why a mapping cannot be served on this node. Each text states what was requested, what was found
//! and what to do.

use crate::sets::count::{counted, either};
use std::fmt;

use crate::request::mapping::level_word;
use crate::request::object_kind::ObjectKind;

/// A mapping that cannot be served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MappingRefusal {
    /// The machine tree is unknown.
    NoTree,
    /// The machine has no object of a level.
    NoLevel {
        /// The level.
        asked: ObjectKind,
        /// The levels that there are.
        there: Vec<ObjectKind>,
    },
    /// There are more tasks than places.
    TooMany {
        /// Tasks on this node.
        tasks: u32,
        /// The largest number that fits.
        fits: u32,
        /// What would have to be larger.
        short: Short,
        /// Which tasks are counted.
        among: Among,
    },
    /// A number of `pe-list=` that the share does not have.
    NoSuchCpu {
        /// The number.
        asked: u32,
        /// The CPUs of the share.
        count: u32,
        /// Whether CPUs are hardware threads.
        threads: bool,
    },
    /// The CPUs of `pe-list=` lie in several packages.
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

/// What there is too little of for all tasks.
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

impl fmt::Display for MappingRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTree => f.write_str(
                "berth does not know the objects of this node, because its machine file is missing; \
                 use --cpu-bind=cores or --cpu-bind=sockets, and ask the administrator to run `berth \
                 discover`",
            ),
            Self::NoLevel { asked, there } => {
                let there: Vec<_> = there.iter().map(|kind| level_word(*kind)).collect();
                write!(
                    f,
                    "this node has no {}; it has {}; name one of those",
                    level_word(*asked),
                    there.join(", ")
                )
            }
            Self::TooMany {
                tasks,
                fits,
                short,
                among: Among::Node,
            } => too_many(f, *tasks, *fits, *short),
            Self::TooMany {
                tasks, fits, short, ..
            } => too_many_there(f, *tasks, *fits, *short),
            Self::NoSuchCpu {
                asked,
                count,
                threads,
            } => {
                let unit = if *threads { "hardware threads" } else { "cores" };
                let last = count.saturating_sub(1);
                write!(
                    f,
                    "the list names CPU {asked}; this step has {count} {unit} on this node; their \
                     numbers are 0 to {last}, whatever the kernel calls them; name only those"
                )
            }
            Self::TwoPackages => f.write_str(
                "the CPUs of the list lie in several packages, and every task gets all of them; name \
                 CPUs of one package, or add :ordered to give each task one entry",
            ),
        }
    }
}

fn too_many(f: &mut fmt::Formatter<'_>, tasks: u32, fits: u32, short: Short) -> fmt::Result {
    if fits == 0 {
        let smaller = match short {
            Short::PerObject => "N or pe=",
            Short::Cpus | Short::Limit | Short::List => "pe=",
        };
        return write!(
            f,
            "not one of the {} on this node fits; use a smaller {smaller}, a wider level, or a larger \
             allocation",
            counted(tasks, "task")
        );
    }
    write!(
        f,
        "{tasks} tasks are on this node, and {fits} of them {}; use at most {} on this node, or {}",
        either(&fits, "fits", "fit"),
        counted(fits, "task"),
        instead(short)
    )
}

/// Writes that there are too many tasks with the same devices: how many of all tasks would fit is not known.
fn too_many_there(f: &mut fmt::Formatter<'_>, tasks: u32, fits: u32, short: Short) -> fmt::Result {
    match (tasks, fits) {
        (1, 0) => f.write_str(
            "a task on this node does not fit next to its devices; use a smaller pe=, or a larger allocation",
        ),
        (_, 0) => write!(
            f,
            "none of the {tasks} tasks next to the same devices on this node fits there; use a smaller pe=, \
             or a larger allocation"
        ),
        _ => write!(
            f,
            "{tasks} tasks are next to the same devices on this node, and {fits} of them {} there; use fewer \
             tasks, or {}",
            either(&fits, "fits", "fit"),
            instead(short)
        ),
    }
}

/// What to do but using fewer tasks.
fn instead(short: Short) -> &'static str {
    match short {
        Short::Cpus => "let them share CPUs with :overload-allowed behind --bind-to",
        Short::PerObject => "a larger N in ppr:N:LEVEL",
        Short::Limit => "a larger limit= behind --bind-to",
        Short::List => "name more CPUs in the list",
    }
}
