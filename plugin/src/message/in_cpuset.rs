//! The cpuset that a step runs in, as slurmstepd has chosen it.

use berth_host::ledger::Cpuset;
use berth_placement::{CpuSet, NodeSet, SetMemory};

/// A cpuset that a step runs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InCpuset {
    pub cpus: CpuSet,
    /// Its line in LSF's form, for the log and the tasks. Nothing is ever read from this text.
    pub line: String,
    /// Its memory nodes, and what they mean.
    pub mems: NodeSet,
    pub memory: SetMemory,
    /// Its entry in the ledger; the site's own cpusets have none.
    pub held: Option<Cpuset>,
    /// The request that chose it, for the day on which its job is resumed; empty for the site's own.
    pub asked: String,
    /// Whether the tasks must not wait, because a debugger starts them.
    pub is_debugged: bool,
}
