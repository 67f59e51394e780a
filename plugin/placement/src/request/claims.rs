//! What other steps are bound to on this host, as far as it concerns one step.
//! In: the ledger's entries, sorted by the rule of what is taken. Out: two sets of
//! CPUs that [`crate::strategy::grid_engine::cores`] marks. Pure data; kernel numbers, since they mean the
//! same after slurmd was given another idea of a socket.

use crate::sets::cpuset::CpuSet;

/// CPUs of cores that others are bound to. One CPU of a core stands for the core.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// Not to be had: steps of other jobs, and regular steps of the own job.
    pub taken: CpuSet,
    /// To be had, but among equal choices the others come first: the job's own
    /// script and `--overlap` steps, and suspended jobs.
    pub shared: CpuSet,
}
