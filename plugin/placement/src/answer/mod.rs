//! The answer of the engine: the plan, the decision behind it, notes, refusals, the launch message.

pub mod cores;
pub mod cpuset;
pub mod decision;
pub mod device_order;
pub mod device_variables;
pub mod mapping;
pub mod memory;
pub mod near;
pub mod note;
pub mod plan;
pub mod quality;
pub mod refusal;
