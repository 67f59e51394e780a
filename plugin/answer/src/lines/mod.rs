//! Lines of Slurm's commands: srun's own, and those that make a job. They are read into what the rest of a question
//! needs; nothing is planned here.

pub(crate) mod job;
mod mpirun;
pub(crate) mod srun;
mod system;

use thiserror::Error;

pub use job::Script;
pub(crate) use job::base;
pub(crate) use system::System;

/// Why a request or a line has no plan.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoAnswer {
    /// The job or the step would not run, with what would happen.
    #[error("{0}")]
    Refused(String),
    /// The command itself would not take the line: it is wrong, or it starts nothing.
    #[error("{0}")]
    Usage(String),
    /// The model does not know it.
    #[error("not modelled: {0}")]
    NotModelled(String),
    /// Something cannot be read.
    #[error("{0}")]
    Failed(String),
}
