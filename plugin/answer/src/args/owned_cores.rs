//! `--cores` of `berth plan`.

use berth_placement::{CpuSet, TextError};

/// `--cores`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnedCores {
    /// `all`
    All,
    /// Slurm's core numbers.
    Listed(CpuSet),
}

impl OwnedCores {
    pub(super) fn read(text: &str) -> Result<Self, TextError> {
        match text {
            "all" => Ok(Self::All),
            list => CpuSet::from_list(list).map(Self::Listed),
        }
    }
}
