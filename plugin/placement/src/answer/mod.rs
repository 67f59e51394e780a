//! What comes out: the plan, the decision behind it, notes, refusals, the launch message.

pub mod cores;
pub mod decision;
pub mod memory;
pub mod memory_refusal;
pub mod message;
pub mod note;
pub mod plan;
pub mod refusal;
