//! Machines and requests as text and at random, what is true of a machine, and the trial of a law. The tests of three
//! crates use it and the benchmarks of one: some make machines at random, others read files or lines.
#![allow(dead_code, reason = "each of them uses a part")]

pub mod ask;
pub mod ask_text;
pub mod machine_text;
pub mod machines;
pub mod random;
pub mod requests;
pub mod tree;
pub mod trial;
