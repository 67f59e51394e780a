//! The dry run as a library: what a request gets on a machine, and every way to show it.
//! It is pure: no file, no process, no clock, no C. So it runs in the command and in a browser alike.
#![forbid(unsafe_code)]

pub mod columns;
pub mod fact;
pub mod parents;
pub mod picture;
pub mod shell;
pub mod text;

pub use fact::{By, Fact};
