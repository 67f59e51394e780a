//! `--core-kind`: which cores a step uses, on machines with cores of several kinds.
//! In: the user's word. Out: `Kind`, or nothing for `any`. Pure.

use std::str::FromStr;

use derive_more::Display;

use crate::sets::error::TextError;

/// The requested kind of cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Display)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Kind {
    /// All cores.
    #[default]
    #[display("any")]
    Any,
    /// Fast cores.
    #[display("performance")]
    Performance,
    /// Slow and frugal cores.
    #[display("efficiency")]
    Efficiency,
}

impl FromStr for Kind {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        match text.to_ascii_lowercase().as_str() {
            "any" => Ok(Self::Any),
            "performance" => Ok(Self::Performance),
            "efficiency" => Ok(Self::Efficiency),
            _ => Err(TextError::new(text, "performance, efficiency or any")),
        }
    }
}
