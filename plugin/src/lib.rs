//! `task_berth.so`: Slurm's task plugin and SPANK plugin in one object.
//!
//! Its folders are the processes in which it runs, because what may lock, log, allocate or
//! wait differs by process. Read [`hooks`] first: every entry point is a guard and a call.
//! In srun, sbatch and salloc it calls [`submit`]; in slurmd [`slurmd`], which plans; in
//! slurmstepd [`stepd`], which reads the masks back and binds the tasks. These use
//! [`step`] and [`site`]. `berth-placement` computes the plans.
//!
//! It runs inside slurmd as root: nothing may panic on purpose, print, or end the process.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
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

mod hooks;
#[cfg(test)]
#[path = "../discover/tests/common/mod.rs"]
mod random;
mod site;
mod slurmd;
mod step;
mod stepd;
mod submit;
