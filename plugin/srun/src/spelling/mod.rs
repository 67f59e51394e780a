//! The meaning of the values of srun's options.

mod bind;
mod distribution;
mod hint;
mod list;
mod node_info;

pub use bind::{LevelBits, TypedBind, cpu_bind, mem_bind, mem_bind_into};
pub use distribution::distribution;
pub use hint::{Hints, hints};
pub use node_info::{Least, NodeInfo, node_info};
