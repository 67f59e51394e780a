//! Lines of Slurm's commands: srun's own, and those that make a job. They are read into what the rest of a question
//! needs; nothing is planned here.

pub(crate) mod job;
mod mpirun;
pub(crate) mod plan_args;
pub(crate) mod srun;

use thiserror::Error;

use crate::{Failure, Unreadable};

pub use job::Script;
pub(crate) use job::base;

/// The beginning of a reason for which the model has no answer.
pub(crate) const NOT_MODELLED: &str = "not modelled: ";

/// Why a line has no plan.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoAnswer {
    /// The job or the step would not run, with what would happen.
    #[error("{0}")]
    Refused(String),
    /// The command itself would not take the line: it is wrong, or it starts nothing.
    #[error("{0}")]
    Usage(String),
    /// The model does not know it.
    #[error("{NOT_MODELLED}{0}")]
    NotModelled(String),
    /// Something cannot be read.
    #[error("{0}")]
    Failed(String),
}

/// A line that its own command would not take: it is wrong, whatever slurmctld would say.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Unusable(pub(crate) String);

/// Why a step or a job would not run.
#[derive(Debug, Error)]
#[error("{0}")]
pub(crate) struct Refused(pub String);

impl NoAnswer {
    /// As a failure: [`Refused`] where the step would not run, else why there can be no answer.
    pub(crate) fn into_failure(self) -> Failure {
        match self {
            Self::Usage(why) => Unusable(why).into(),
            Self::Failed(why) => Unreadable(why).into(),
            why => Refused(why.to_string()).into(),
        }
    }
}
