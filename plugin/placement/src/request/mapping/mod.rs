//! Open MPI's mapping language: `--map-by`, `--rank-by` and `--bind-to`, as far as it concerns one
//! node. In: the three texts. Out: [`Mapping`], or an error that marks the wrong part. Pure.
//!
//! The reference is the mapper of PRRTE 5.0: what it does, and not what its documentation says.

mod error;
pub mod options;
mod pe_list;
mod read;
mod together;
mod words;

pub use error::MappingError;
pub use options::{BindLevel, BindTo, MapBy, Mapping, RankBy, Target};
pub use pe_list::PeList;
pub use together::MappingTexts;
pub use words::level_word;

/// Longer texts are refused unread.
pub use crate::sets::limits::MAPPING_BYTES as MAX_LENGTH;
