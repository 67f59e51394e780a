//! The node: its hardware as a tree, and as slurmd counts it.

pub mod assembly;
pub mod devices;
pub mod distance;
pub mod domains;
pub mod ecores;
pub mod kinds;
pub mod ldoms;
pub mod machine;
pub mod nest;
pub mod node;
pub mod numbering;
pub mod object;
pub mod parts;
mod performance;
pub mod places;
pub mod presets;
pub mod pu_table;
pub mod shape;
pub mod surroundings;
