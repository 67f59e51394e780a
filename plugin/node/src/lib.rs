//! `berth node`: what must act between a launch and a step's end. One process for all slurmds of a host. It moves the
//! cpuset of a resumed job whose CPUs others have, takes memory along, and mends fences and masks after CPUs were
//! offline. slurmstepds write the ledger's entries; this reads them, and changes those whose tasks have started.
//!
//! Read in this order: [`service`] (the event loop), [`node`] (one slurmd's folder), [`cpuset`] (what happens to a
//! cpuset), [`turn`] (what is then done), [`choice`] (which CPUs it gets), [`task_cgroup`] (what is written to the kernel).
#![deny(
    clippy::exit,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unreachable,
    clippy::unwrap_used
)]

mod choice;
mod cpuset;
mod ending;
mod faults;
mod group;
mod memory;
mod node;
mod node_state;
mod service;
mod task_cgroup;
mod turn;

pub use service::{Options, ServiceError, release, run};
