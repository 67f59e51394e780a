//! The node: its hardware as a tree, and as slurmd counts it.

pub mod host;
pub mod machine;
pub mod numbering;
pub mod shape;
