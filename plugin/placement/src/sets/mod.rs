//! Sets of CPUs and NUMA nodes, their texts, numbers with a type, and bounds.

pub mod cpuset;
pub mod cpuset_text;
pub mod ids;
pub mod limits;
pub mod list;
#[cfg(feature = "serde")]
pub(crate) mod serialized;
pub mod text;
