//! A step as slurmd has read it, once, from the launch request and the credential. Where its wish looks at other steps (a
//! `--binding`, a cpuset, a `--mem-bind`), slurmstepd gets it and decides it under the ledger's lock.

pub(crate) mod convert;
pub(crate) mod cpuset_size;
pub(crate) mod handover;
pub(crate) mod inherited;
pub(crate) mod ledger;
pub(crate) mod memory;
pub(crate) mod names;
pub(crate) mod own_options;
pub(crate) mod seal;
pub(crate) mod words;

use berth_placement::{Confine, CpusetRequest, Fixes, Request};
use serde::{Deserialize, Serialize};

/// A step's request, and what of its launch matters for the decision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Step {
    /// The request. The step's CPUs and the job's are those of the credential.
    pub request: Request,
    /// The binding with which the launch request came; none for a script, whose masks slurmd has already announced.
    pub came: Option<CpuBindWords>,
    /// Whether srun had `--overlap`.
    pub overlaps: bool,
    /// `--confine`.
    pub confine: Option<Confine>,
    /// The cpuset that the job requests.
    pub cpuset: Option<CpusetWish>,
    /// The GPUs that Slurm gave the step.
    pub gpus: GpuGrant,
    /// Notes to the user about a `--near` that is honoured.
    pub near_notes: Vec<String>,
}

/// A `--cpu-bind` in Slurm's own words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CpuBindWords {
    /// `cpu_bind_type`.
    pub bits: u32,
    /// `cpu_bind`, if it is a list.
    pub list: Option<String>,
}

/// The GPUs that Slurm gave a step, as far as their order in its tasks needs it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GpuGrant {
    /// Whether Slurm gave it some, and lists them.
    pub are_listed: bool,
    /// Whether Slurm binds them to its tasks, and so writes each task's list itself.
    pub are_bound: bool,
    /// Whether it then lists all of the step's in each task (`--gpu-bind=none`).
    pub all_in_each: bool,
}

/// The cpuset that a step's job requests, or its partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CpusetWish {
    /// The request that holds, with the partition's words.
    pub request: CpusetRequest,
    /// Whether it is the cpuset of all steps of the job.
    pub of_job: bool,
    /// Whether a debugger starts the step. Slurm itself then waits for its tasks and could not cancel them, so they must
    /// not wait.
    pub is_debugged: bool,
    /// The number of the job's nodes.
    pub nodes: u32,
}

impl Step {
    /// Whether its place depends on other steps of the node.
    pub(crate) fn looks_at_others(&self, fixes: Fixes) -> bool {
        let ask = &self.request;
        let binds_memory = ask.mem_bind.policy.is_some() && fixes != Fixes::NONE;
        ask.binding.is_some() || ask.cpuset.is_some() || binds_memory
    }
}
