//! Why a line is not planned: it cannot be read, or slurmctld's model gives it no cores.

use std::fmt;

use crate::{Failure, Unreadable};

/// The beginning of a reason for which the model has no answer.
pub(crate) const NOT_MODELLED: &str = "not modelled: ";

/// Why a line has no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// The job or the step would not run, with what would happen.
    Refused(String),
    /// The command itself would not take the line: it is wrong, or it starts nothing.
    Usage(String),
    /// The model does not know it.
    NotModelled(String),
    /// Something cannot be read.
    Failed(String),
}

/// A line that its own command would not take: it is wrong, whatever slurmctld would say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unusable(String);

impl Unusable {
    pub(crate) fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unusable {}

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

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(why) | Self::Usage(why) | Self::Failed(why) => f.write_str(why),
            Self::NotModelled(what) => write!(f, "{NOT_MODELLED}{what}"),
        }
    }
}
