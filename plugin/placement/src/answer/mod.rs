//! What comes out: the plan's parts, the rule that decided, refusals, the launch message.

pub mod cores;
pub mod memory;
pub mod message;
pub mod refusal;
pub mod rule;
