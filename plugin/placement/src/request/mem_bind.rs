//! `--mem-bind`: the NUMA nodes that a task's memory comes from.
//! In: the lists of a launch message. Out: `MemBind`. `berth-srun` knows how srun spells the option.
//! Pure; lists are read only here.

use std::fmt;

use crate::request::cpu_bind::parse_id;
use crate::sets::cpuset::NodeSet;
use crate::sets::ids::NumaId;
use crate::sets::limits::{LEAST_MASK_WIDTH, MAX_CPUS};
use crate::sets::list::List;
use crate::sets::text::TextError;

/// Where a task's memory comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum MemPolicy {
    /// `rank`: the NUMA node whose number is the task's local id.
    Rank,
    /// `local`: the NUMA nodes of the CPUs that the task may run on.
    Local,
    /// `map_mem`: one node per task; the list wraps.
    Map(List<NumaId>),
    /// `mask_mem`: one set of nodes per task; the list wraps.
    Mask(List<NodeSet>),
}

/// The whole option.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MemBind {
    /// `None` leaves memory alone: nothing is requested, or `none`.
    pub policy: Option<MemPolicy>,
    /// `prefer`: memory comes from the lowest node first, and from others when it is full.
    pub prefer: bool,
    /// `verbose`.
    pub verbose: bool,
    /// `sort`: slurmd's own affair (Intel KNL); it binds nothing.
    pub sort: bool,
}

impl MemPolicy {
    /// A policy with a list; `None` for a name that takes none.
    ///
    /// # Errors
    /// [`TextError`] inside for a list that is empty or wrong.
    #[must_use]
    pub fn read(name: &str, list: &str) -> Option<Result<Self, TextError>> {
        let node = |text: &str| parse_id(text).filter(|id| *id < MAX_CPUS).map(NumaId);
        // Linux has at most 1024 NUMA nodes (NODES_SHIFT), as many as the narrowest CPU mask.
        let mask = |text: &str| NodeSet::from_hex_within(text, LEAST_MASK_WIDTH).ok();
        Some(match name {
            "map_mem" | "mapmem" => {
                List::read(list, "NUMA node numbers such as 0,2 or 1*4", node).map(Self::Map)
            }
            "mask_mem" | "maskmem" => {
                List::read(list, "NUMA node masks such as 0x1,0x6 or 0x3*4", mask).map(Self::Mask)
            }
            _ => return None,
        })
    }
}

impl fmt::Display for MemPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rank => f.write_str("rank"),
            Self::Local => f.write_str("local"),
            Self::Map(nodes) => {
                f.write_str("map_mem:")?;
                nodes.write(f, |node, f| write!(f, "{node}"))
            }
            Self::Mask(masks) => {
                f.write_str("mask_mem:")?;
                masks.write(f, |mask, f| f.write_str(&mask.to_short_hex()))
            }
        }
    }
}

/// The requested policy in srun's words, without `verbose` and `sort`.
impl fmt::Display for MemBind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.policy {
            None => f.write_str("none"),
            Some(policy) if self.prefer => write!(f, "prefer,{policy}"),
            Some(policy) => policy.fmt(f),
        }
    }
}
