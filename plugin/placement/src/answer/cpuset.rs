//! The cpuset of a step's job on this node, and what was looked at for it. Pure data;
//! `--explain`, the log line and the ledger's entry are written from it.

use crate::request::cpuset::CpusetRequest;
use crate::sets::cpuset::CpuSet;
use crate::sets::ids::NumaId;
use crate::sets::nodeset::NodeSet;

/// The cpuset of a step's job on this node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenSet {
    /// The request.
    pub requested: CpusetRequest,
    /// Its CPUs, also those that the step does not own.
    pub cpus: CpuSet,
    /// Number of CPUs as Slurm counts them here: hardware threads, or cores.
    pub count: u32,
    /// Whether these are cores.
    pub counts_cores: bool,
    /// Its memory nodes.
    pub mems: NodeSet,
    /// What they mean to its tasks.
    pub memory: SetMemory,
    /// The largest distance between two of its CPUs.
    pub radius: u32,
    /// Whether no other cpuset and no `--binding` gets its CPUs.
    pub exclusive: bool,
    /// Who chose it.
    pub from: SetFrom,
    /// What was not chosen, and why.
    pub rejected: Vec<Rejected>,
}

/// What a cpuset's memory nodes mean to its tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum SetMemory {
    /// Nothing: memory comes from everywhere.
    Open,
    /// Memory comes from them first, and from others when they are full.
    Preferred,
    /// Memory comes from no others.
    Only {
        /// Whether a full node may page to swap.
        swap: bool,
    },
}

/// Who chose a cpuset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetFrom {
    /// Best fit.
    BestFit,
    /// First fit (`cpuset_best=off`).
    FirstFit,
    /// An earlier step of the job, or the site's file.
    Given,
}

/// CPUs that were not chosen, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// The list names CPUs that the job does not own.
    NotOwned(CpuSet),
    /// The job owns CPUs that the list does not name.
    NotListed(CpuSet),
    /// Others hold CPUs.
    Taken(CpuSet),
    /// Other jobs' cpusets have CPUs too; they are avoided.
    Avoided(CpuSet),
    /// The kernel isolates CPUs.
    Isolated(CpuSet),
    /// A cpuset has CPUs on memory nodes that it wants for itself.
    ExclusiveMemory(NodeSet),
    /// The job does not own a NUMA node whole.
    PartOfNode(NumaId),
    /// A smaller radius holds too few CPUs.
    Radius {
        /// The radius.
        radius: u32,
        /// The most CPUs that one cpuset of it could have.
        holds: u32,
    },
}
