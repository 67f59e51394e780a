//! What comes out: the plan, the decision behind it, notes, refusals, the launch message.

pub mod cores;
pub mod cpuset;
pub mod cpuset_note;
pub mod cpuset_refusal;
pub mod decision;
pub mod device_mark;
pub mod device_note;
pub mod device_order;
pub mod device_variables;
pub mod mapping_note;
pub mod mapping_refusal;
pub mod memory;
pub mod memory_note;
pub mod memory_refusal;
pub mod message;
pub mod near;
pub mod near_note;
pub mod near_refusal;
pub mod note;
pub mod plan;
pub mod quality;
pub mod refusal;
pub mod reserved_note;
