//! slurmd's words to slurmstepd about a step, in one variable of the launch message: a decision, or a wish that
//! slurmstepd decides beside other steps. slurmd marks it with its key ([`crate::step::seal`]); slurmstepd trusts
//! nothing else. In: a value. Out: JSON, and back. Fields with unknown names are ignored, so that a release can add some.

use std::str::FromStr;

use berth_host::ledger::Cpuset;
use berth_placement::sets::limits::HANDOVER_BYTES;
use berth_placement::{Binding, Chosen, CpuSet, DeviceOrder, MemBind, NodeSet, SetMemory};
use serde::{Deserialize, Serialize};

use crate::step::Step;

/// The result for a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Outcome {
    /// The message has the tasks' masks.
    Bound,
    /// Nothing is bound, as requested.
    #[default]
    Unbound,
    /// A `--binding` failed: the message has the step's CPUs.
    Failed,
    /// The tasks must not start.
    Refused,
    /// The administrator has switched berth off.
    Off,
}

/// A step's decision, or its wish.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Handover {
    pub outcome: Outcome,
    /// The mark of the list that the message carries ([`crate::step::inherited`]); empty for none.
    #[serde(skip)]
    pub list: String,
    /// The step's CPUs; no task is bound to others, except to those in `beyond`.
    pub own: CpuSet,
    /// CPUs of others that a task is bound to as well: task/affinity gives whole memory domains.
    #[serde(skip_serializing_if = "CpuSet::is_empty")]
    pub beyond: CpuSet,
    /// Whether slurmd's map does not say which CPUs each core has: the machine file does.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_tree: bool,
    /// The request, for the log and the tasks. Nothing is ever read from this text.
    pub request: String,
    /// The rule that decided, for the log and the tasks. Nothing is ever read from this text.
    pub rule: String,
    /// Notes to the user.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// The `--binding` that was served.
    #[serde(skip)]
    pub served: Option<Served>,
    /// The requested `--mem-bind`, if the message has each task's NUMA nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemBind>,
    /// The order in which tasks are to see their GPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub devices: Option<DeviceOrder>,
    /// The cpuset that the step runs in.
    #[serde(skip)]
    pub cpuset: Option<InCpuset>,
    /// The job's place among the node's pools; none on a node without pools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<InPool>,
    /// Whether bound tasks are confined to their CPUs.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub confine: bool,
    /// What slurmstepd decides. Until then the message has the step's own CPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undecided: Option<Box<Step>>,
}

/// A `--binding`, and the cores that it chose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Served {
    pub binding: Binding,
    pub chosen: Chosen,
}

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
    pub requested: String,
}

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

    /// The number of these CPUs, as Slurm counts them.
    pub(crate) fn count(&self, cpus: &CpuSet) -> u32 {
        self.slurms(u32::try_from(cpus.count()).unwrap_or(u32::MAX))
    }

    /// The CPUs of the job, as Slurm counts them.
    pub(crate) fn cpu_count(&self) -> u32 {
        self.count(&self.cpus)
    }
}

impl FromStr for Handover {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.len() > HANDOVER_BYTES {
            return Err(format!("it has {} bytes", text.len()));
        }
        serde_json::from_str(text).map_err(|why| why.to_string())
    }
}

#[cfg(test)]
#[path = "handover_tests.rs"]
mod tests;
