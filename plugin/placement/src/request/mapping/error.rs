//! A mapping that cannot be read, or whose options contradict each other: what was found, and what
//! to write instead. The text is bounded, and a user's control characters do not reach a terminal.

use derive_more::Display;

/// A wrong `--map-by`, `--rank-by` or `--bind-to`.
#[derive(Clone, Debug, PartialEq, Eq, Display)]
pub struct MappingError(String);

/// The characters before the wrong place that are shown, and all that are.
const BEFORE: usize = 40;
const SHOWN: usize = 72;

impl MappingError {
    /// `what` is wrong at the byte `at` of an option's text.
    pub(super) fn at(option: &str, text: &str, at: usize, what: &str) -> Self {
        let before = text.get(..at).unwrap_or(text).chars().count();
        let from = before.saturating_sub(BEFORE);
        let shown = text.chars().skip(from).take(SHOWN);
        let shown: String = shown
            .map(|letter| if letter.is_control() { '?' } else { letter })
            .collect();
        let column = before - from;
        Self(format!("--{option}: {what}\n  {shown}\n  {:column$}^", ""))
    }

    /// The text is longer than anything that is read; there is no wrong place to mark.
    pub(super) fn too_long(option: &str, most: usize) -> Self {
        Self(format!(
            "--{option}: longer than {most} bytes; write a shorter text, for example ranges such as 0-63 \
             in a list"
        ))
    }

    /// The options do not go together.
    pub(super) fn together(why: String) -> Self {
        Self(why)
    }
}

impl std::error::Error for MappingError {}
