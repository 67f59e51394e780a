//! What the tests share: a real Slurm cluster in a temporary folder, the built
//! object and command, and a way to say that a test was not run.

pub mod accounting;
pub mod adoption;
mod builder;
pub mod check_manuals;
mod cluster;
mod compiler;
pub mod confine;
pub mod facts;
pub mod hostile;
pub mod open_mpi;
mod output;
pub mod page_lines;
pub mod process;
pub mod real;
pub mod select_truth;
mod service;
pub mod srun_lines;
pub mod trace;
mod under_test;
pub mod verdicts;

pub use builder::Builder;
pub use cluster::{Batch, Cluster};
pub use compiler::compile;
pub use output::{Done, mask};
pub use service::Service;
pub use under_test::{
    cgroup_cpusets, command, debug_object, memory_policies, object, program, skip, two_cpus,
};
