//! Which system calls a launch costs: those of the hook alone in this crate's stand-in for slurmd,
//! and those of a real slurmd beside what it makes without berth.

pub mod hook;
pub mod list;
pub mod names;
pub mod slurmd;
pub mod tracer;
pub mod words;
