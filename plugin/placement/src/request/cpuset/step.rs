//! What the planner is told about a step's cpuset: a request to choose from, or a cpuset that exists.
//! Pure data; the caller has read the site's file and the ledger.

use std::fmt;

use crate::request::cpuset::attributes::Attributes;
use crate::request::cpuset::request::{CpusetRequest, Dynamic};
use crate::sets::cpuset::CpuSet;
use crate::sets::nodeset::NodeSet;

/// The cpuset of a step's job on this node.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum StepCpuset {
    /// It is chosen with this step, the first one of its job here.
    Choose(Choice),
    /// It exists: an earlier step of the job chose it, or the site's file has it.
    Given(ExistingCpuset),
}

/// A cpuset to choose.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Choice {
    /// The checked request.
    pub requested: Dynamic,
    /// Number of nodes of the job; 0 if it is unknown.
    pub job_nodes: u32,
    /// Whether the user wrote the number of CPUs, and no command worked it out.
    pub is_count_typed: bool,
}

/// A cpuset that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ExistingCpuset {
    /// The request that led to it.
    pub requested: CpusetRequest,
    /// Its CPUs. Those that the job does not own count for nothing.
    pub cpus: CpuSet,
    /// Its memory nodes; without them the nodes of its CPUs.
    pub mems: Option<NodeSet>,
    /// Its attributes: the request's, or those of the site's file.
    pub attributes: Attributes,
}

impl StepCpuset {
    /// Whether the request that leads to it lists CPUs.
    #[must_use]
    pub fn has_cpu_list(&self) -> bool {
        match self {
            Self::Choose(choice) => choice.requested.cpu_list.is_some(),
            Self::Given(given) => given.requested.has_cpu_list(),
        }
    }
}

/// The request that leads to it.
impl fmt::Display for StepCpuset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Choose(choice) => choice.requested.fmt(f),
            Self::Given(given) => given.requested.fmt(f),
        }
    }
}
