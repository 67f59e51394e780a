//! Laws that hold on every shape of machine, the machines to try them on, and the way to the
//! engine. Used by the tests of two crates: one makes machines at random, the other reads files.
#![allow(dead_code, reason = "each test uses a part")]

pub mod asking;
pub mod door;
pub mod facts;
pub mod harness;
pub mod laws;
pub mod making;
pub mod random;
pub mod written;
