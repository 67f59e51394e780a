//! Open MPI's mapping language: its grammar, the answers that the contract names, and answers that
//! PRRTE itself gave.

#[path = "../common/mod.rs"]
mod common;
mod grammar;
mod laws;
mod machines;
mod page;
#[path = "../tree/random.rs"]
#[allow(dead_code, reason = "each test uses a part")]
mod random;
mod recorded;
mod table;
