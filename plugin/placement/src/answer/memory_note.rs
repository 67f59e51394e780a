//! Notes on memory nodes that another job's cpuset wants for itself (`CPUSET_MEMORY_EXCLUSIVE`). Each text
//! states what was requested, what was found and what to do.

use std::fmt;

use crate::sets::nodeset::NodeSet;

/// What a `--mem-bind` has to do with such nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryNote {
    /// `local` has others, so it leaves them out.
    LeftOut(NodeSet),
    /// The tasks' memory is bound to them: the request names them, or there are no others.
    Shared(NodeSet),
}

impl fmt::Display for MemoryNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LeftOut(nodes) => write!(
                f,
                "--mem-bind=local leaves out NUMA nodes {nodes}, whose memory another job's cpuset wants for \
                 itself; name nodes with --mem-bind=mask_mem if the tasks need them"
            ),
            Self::Shared(nodes) => write!(
                f,
                "--mem-bind binds memory to NUMA nodes {nodes}, whose memory another job's cpuset wants for \
                 itself; bind to other nodes if the tasks can do without them"
            ),
        }
    }
}
