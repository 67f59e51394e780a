//! The name of a cpuset that a site defines. In: a text. Out: the name, or an error. Pure.

use std::str::FromStr;

use derive_more::Display;

use crate::sets::error::TextError;
use crate::sets::limits::WORD_BYTES;

/// The name of a cpuset in the site's file. It stands in logs, in the ledger and in variables of tasks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Display)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CpusetName(String);

impl CpusetName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for CpusetName {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let is_letter = |letter: u8| letter.is_ascii_alphanumeric() || b"_-.@+".contains(&letter);
        let first = text.bytes().next();
        let fits = text.len() <= WORD_BYTES
            && first.is_some_and(|first| first.is_ascii_alphanumeric() || first == b'_')
            && text.bytes().all(is_letter);
        match fits {
            true => Ok(Self(text.into())),
            false => Err(TextError::new(
                text,
                "the name of a cpuset: letters, digits and any of _ - . @ +, 64 at the most, the \
                 first one a letter, a digit or _",
            )),
        }
    }
}
