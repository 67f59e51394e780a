//! Machines and requests as text and at random, what is true of a machine, and the trial of a law. The tests of two
//! crates use it: one makes machines at random, the other reads files.
#![allow(dead_code, reason = "each of the two crates uses a part")]

pub mod ask;
pub mod ask_text;
pub mod machine_text;
pub mod machines;
pub mod random;
pub mod requests;
pub mod tree;
pub mod trial;
