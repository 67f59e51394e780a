//! Why a line is not planned: it cannot be read, or slurmctld's model gives it no cores.

use thiserror::Error;

use crate::{Failure, Unreadable};

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

impl NoAnswer {
    /// Why the step would not run; else why there can be no answer.
    ///
    /// # Errors
    /// A line that is wrong, and something that cannot be read.
    pub(crate) fn into_reason(self) -> Result<String, Failure> {
        match self {
            Self::Usage(why) => Err(Unusable(why).into()),
            Self::Failed(why) => Err(Unreadable(why).into()),
            why => Ok(why.to_string()),
        }
    }
}
