//! Why a `--mem-bind` cannot be served. Each text states what was requested, what was found and
//! what to do.

use derive_more::Display;

use crate::request::mem_bind::MemPolicy;
use crate::sets::bounded::repeated;
use crate::sets::cpuset::CpuSet;
use crate::sets::ids::LocalId;
use crate::sets::nodeset::NodeSet;

/// A `--mem-bind` that cannot be served.
#[derive(Clone, Debug, PartialEq, Eq, Display)]
pub enum MemoryRefusal {
    /// The machine tree is unknown.
    #[display(
        "--mem-bind={} requests NUMA nodes; berth does not know those of this node, because its machine file is \
         missing; leave --mem-bind out, and ask the administrator to run `berth discover`",
        repeated(requested)
    )]
    Unknown {
        /// The requested value.
        requested: MemPolicy,
    },
    /// NUMA nodes that do not exist.
    #[display(
        "--mem-bind={} gives task {task} on this node NUMA node {missing}; this node has NUMA nodes {found}; {}",
        repeated(requested),
        instead(requested)
    )]
    Missing {
        /// The requested value.
        requested: MemPolicy,
        /// The task that would get them.
        task: LocalId,
        /// Those of them that do not exist.
        missing: NodeSet,
        /// The existing nodes.
        found: NodeSet,
    },
    /// A task that would get no node: a zero mask in a list.
    #[display(
        "--mem-bind gives task {_0} on this node an empty mask; every task needs a NUMA node: name one, or use \
         --mem-bind=none"
    )]
    Empty(LocalId),
    /// `local` for a task whose CPUs are in no NUMA node.
    #[display(
        "--mem-bind=local requests the NUMA nodes of the CPUs of task {task} on this node; its CPUs {cpus} are \
         in no NUMA node; use --mem-bind=map_mem:LIST or none"
    )]
    NoneNear {
        /// The task.
        task: LocalId,
        /// Its CPUs.
        cpus: CpuSet,
    },
}

fn instead(requested: &MemPolicy) -> &'static str {
    match requested {
        MemPolicy::Rank => "use fewer tasks on this node, or --mem-bind=local",
        _ => "name only those, or let --mem-bind=local choose",
    }
}
