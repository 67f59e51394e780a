//! The pools of a node, as slurmd tells slurmstepd about its step's job.

use berth_placement::CpuSet;
use serde::{Deserialize, Serialize};

/// A job on a node with pools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InPool {
    /// The weight of every job that is in no pool.
    pub others: u32,
    /// The pool that the job is in, if it fits in.
    pub member: Option<Member>,
}

/// A job that is in a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Member {
    /// The pool's name.
    pub name: String,
    /// The most hardware threads of all of its jobs.
    pub limit: u32,
    /// The most hardware threads of all pools.
    pub most: u32,
    /// The job's weight.
    pub weight: u32,
    /// The job's CPUs on this node.
    pub cpus: CpuSet,
    /// The hardware threads of each CPU that Slurm counts; 0 is 1.
    pub threads: u32,
    /// The variable that tells a task its number of CPUs.
    pub export: String,
}

impl Member {
    /// Hardware threads as Slurm's CPUs.
    pub(crate) fn slurms(&self, threads: u32) -> u32 {
        threads.div_ceil(self.threads.max(1))
    }

    /// How many CPUs these are, as Slurm counts them.
    pub(crate) fn count(&self, cpus: &CpuSet) -> u32 {
        self.slurms(u32::try_from(cpus.count()).unwrap_or(u32::MAX))
    }

    /// The CPUs of the job, as Slurm counts them.
    pub(crate) fn asked(&self) -> u32 {
        self.count(&self.cpus)
    }
}
