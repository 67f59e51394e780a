//! Decisions that slurmctld makes before a node is involved.

pub mod layout;
pub mod select;
pub mod task_count;
