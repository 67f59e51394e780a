//! Cpusets: exact answers on small machines, and laws on random ones.

#[path = "../common/mod.rs"]
mod common;
mod facts;
mod laws;
mod making;
mod memory;
mod refusals;
mod reserved;
mod resume;
