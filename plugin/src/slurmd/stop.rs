//! Why a launch is not planned.

use berth_placement::{Refusal, RefusalKind};

/// Why a launch is not planned.
pub(crate) enum Stop {
    /// We leave the step alone: off, or a record that cannot be trusted.
    Aside(String),
    /// The step must not run as requested.
    Refused(RefusalKind, String),
}

impl From<Refusal> for Stop {
    fn from(why: Refusal) -> Self {
        Self::Refused(why.kind(), why.to_string())
    }
}

impl From<slurm_sys::Error> for Stop {
    fn from(why: slurm_sys::Error) -> Self {
        Self::Aside(why.to_string())
    }
}
