//! The node: its hardware as a tree, and as slurmd counts it.

pub mod devices;
pub mod host;
pub mod kinds;
pub mod machine;
pub mod numbering;
pub mod object;
pub mod parts;
pub mod shape;
