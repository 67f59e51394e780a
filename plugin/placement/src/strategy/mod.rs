//! How a wish becomes CPUs: one strategy for each kind of wish.

pub mod grid_engine;
pub mod level;
pub mod list;
pub(crate) mod planner;
