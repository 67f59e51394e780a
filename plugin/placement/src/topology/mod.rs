//! The node: its hardware as a tree, and as slurmd counts it.

pub mod assembly;
pub mod core_kinds;
pub mod devices;
pub mod domains;
pub mod machine;
pub mod nest;
pub mod node;
pub mod numa;
pub mod numbering;
pub mod objects;
pub mod parts;
pub mod presets;
pub mod pu_table;
pub mod shape;
pub mod surroundings;
