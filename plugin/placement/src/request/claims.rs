//! The CPUs that other steps are bound to on this host, as far as they concern one step.
//! In: the ledger's entries, sorted by the rule of what is taken. Out: sets of
//! CPUs that [`crate::strategy::grid_engine::cores`] marks and cpusets keep away from. Pure data. It holds kernel numbers,
//! because they stay the same when slurmd's meaning of a socket changes.

use crate::sets::cpuset::CpuSet;
use crate::sets::nodeset::NodeSet;

/// CPUs of cores that others are bound to. One CPU of a core stands for the core.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// Must not be used: CPUs of other jobs' steps, and of regular steps of the own job.
    pub taken: CpuSet,
    /// May be used, but avoided if possible: CPUs of the job's own
    /// script and `--overlap` steps, and of suspended jobs.
    pub shared: CpuSet,
    /// CPUs of other jobs that are in a pool: a `--binding` takes others if it can.
    pub pools: CpuSet,
    /// Those of `pools` that a second one of these jobs has, those that a third one has, and so on. A `--binding` takes
    /// the cores with the fewest of them.
    pub pools_again: Vec<CpuSet>,
    /// For a job in a pool, which gets its CPUs whoever is bound there: CPUs of other jobs' bindings. It takes others
    /// if it can, after having kept off `pools`.
    pub bindings: CpuSet,
    /// As `pools_again`, of bindings.
    pub bindings_again: Vec<CpuSet>,
    /// CPUs of other jobs' cpusets that are not exclusive: a new cpuset avoids them if possible, and an
    /// exclusive one must not use them. (Those of exclusive cpusets are in `taken`.)
    pub cpusets: CpuSet,
    /// Memory nodes that other jobs' cpusets want for themselves (`CPUSET_MEMORY_EXCLUSIVE`): a new
    /// cpuset avoids them if possible.
    pub memory: NodeSet,
}
