//! The node: its hardware as a tree, and as slurmd counts it.

pub mod devices;
pub mod domains;
pub mod ecores;
pub mod kinds;
pub mod ldoms;
pub mod machine;
pub mod node;
pub mod numbering;
pub mod object;
pub mod parts;
pub mod pu_table;
pub mod shape;
