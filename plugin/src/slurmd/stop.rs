//! Why a launch is not planned.

use berth_placement::{Refusal, RefusalKind};

use crate::slurmd::discovery;

/// Why a launch is not planned.
pub(crate) enum Stop {
    /// We leave the step alone: off, or a record that cannot be trusted.
    FallBack(String),
    /// The step must not run as requested.
    Refused(RefusalKind, String),
}

impl Stop {
    /// A request that cannot be read, or must not be served.
    pub(crate) fn refused(why: impl ToString) -> Self {
        Self::Refused(RefusalKind::Bind, why.to_string())
    }
}

impl From<Refusal> for Stop {
    fn from(why: Refusal) -> Self {
        let text = match why.lacks_tree() && discovery::is_unfinished() {
            true => "the request needs to know the node's objects, and the node is still being discovered; try again".into(),
            false => why.to_string(),
        };
        Self::Refused(why.kind(), text)
    }
}

impl From<slurm_sys::Error> for Stop {
    fn from(why: slurm_sys::Error) -> Self {
        Self::FallBack(why.to_string())
    }
}
