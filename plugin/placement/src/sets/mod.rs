//! Sets of CPUs and NUMA nodes, their texts, numbers with a type, and bounds.

pub mod bounded;
pub mod count;
pub mod cpuset;
pub mod cpuset_text;
pub mod decimal;
pub mod error;
pub mod ids;
pub mod limits;
pub mod list;
pub mod nearest;
pub mod nodeset;
pub mod pu_set;
#[cfg(feature = "serde")]
pub(crate) mod travel;
