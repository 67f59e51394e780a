//! The dry run as a library: what a request gets on a machine, and every way to show it.
//! It is pure: no file, no process, no clock, no C. So it runs in the command and in a browser alike.
#![forbid(unsafe_code)]

pub mod args;
pub mod check;
pub mod hwloc;
pub mod json;
pub mod lines;
mod nodes;
pub mod parents;
pub mod picture;
pub mod plan;
pub mod question;
pub mod reader;
pub mod shell;
pub mod text;
pub mod topo;
pub mod tune;
pub mod world;

pub use question::Question;
pub use world::{Premise, Provenance, World};

/// A failure that is no refusal of the request.
pub type Failure = Box<dyn std::error::Error>;

/// A text or a file of the user's that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unreadable(pub String);
