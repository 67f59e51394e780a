//! Notes on memory nodes that another job's cpuset wants for itself (`CPUSET_MEMORY_EXCLUSIVE`). Each text
//! states what was requested, what was found and what to do.

use derive_more::Display;

use crate::sets::nodeset::NodeSet;

/// What a `--mem-bind` has to do with such nodes.
#[derive(Clone, Debug, PartialEq, Eq, Display)]
pub enum MemoryNote {
    /// `local` has others, so it leaves them out.
    #[display(
        "--mem-bind=local leaves out NUMA nodes {_0}, whose memory another job's cpuset wants for itself; name \
         nodes with --mem-bind=mask_mem if the tasks need them"
    )]
    LeftOut(NodeSet),
    /// The tasks' memory is bound to them: the request names them, or there are no others.
    #[display(
        "--mem-bind binds memory to NUMA nodes {_0}, whose memory another job's cpuset wants for itself; bind \
         to other nodes if the tasks can do without them"
    )]
    Shared(NodeSet),
}
