//! What a machine file may hold: its versions, its bounds, and why a text is none.
//! In: numbers and lists as they stand in the file. Out: our types, or [`FormatError`].

use berth_placement::CpuSet;
use berth_placement::sets::cpuset::MAX_CPUS;
use thiserror::Error;

/// The version that is written and read.
pub(crate) const VERSION: u32 = 2;

/// A text that is no machine file of ours.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum FormatError {
    /// The text ends too early: a writer died, or the disk was full.
    #[error("it ends in the middle")]
    Torn,
    /// Another program wrote it, or somebody edited it.
    #[error("it is not berth's machine file: {0}")]
    Foreign(String),
    /// Another release of berth wrote it.
    #[error("it is of version {0}, and this berth reads version {VERSION}")]
    Version(u64),
    /// The numbers in it do not form a machine.
    #[error("its machine is impossible: {0}")]
    Machine(String),
}

pub(crate) fn cpus(list: &str) -> Result<CpuSet, FormatError> {
    CpuSet::from_list(list).map_err(impossible)
}

pub(crate) fn bounded(number: u32) -> Result<u32, FormatError> {
    if number < MAX_CPUS {
        return Ok(number);
    }
    Err(FormatError::Machine(format!(
        "it has the number {number}, and {MAX_CPUS} is the limit"
    )))
}

pub(crate) fn impossible(why: impl ToString) -> FormatError {
    FormatError::Machine(why.to_string())
}

pub(crate) fn wrong(why: &serde_json::Error) -> FormatError {
    if why.is_eof() {
        FormatError::Torn
    } else {
        FormatError::Foreign(why.to_string())
    }
}
