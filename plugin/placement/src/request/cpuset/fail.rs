//! `cpuset_fail=`: what a cpuset leads to that a node does not have at the moment.
//! In: the site's word. Out: [`CpusetFail`]. Pure.

use std::fmt;
use std::str::FromStr;

use crate::sets::error::TextError;

/// What a cpuset leads to that cannot be had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CpusetFail {
    /// The step is refused.
    #[default]
    Refuse,
    /// The step runs without a cpuset and without a binding, with a note.
    Unbound,
    /// The step waits so many seconds for CPUs that others hold, and is refused after that.
    Wait(u16),
}

/// The longest wait, in seconds.
const LONGEST: u16 = 300;

impl FromStr for CpusetFail {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        match text {
            "refuse" => Ok(Self::Refuse),
            "unbound" => Ok(Self::Unbound),
            _ => {
                let seconds = text
                    .strip_prefix("wait:")
                    .filter(|text| !text.starts_with('+'))
                    .and_then(|text| text.parse().ok());
                let seconds = seconds.filter(|seconds| (1..=LONGEST).contains(seconds));
                seconds.map(Self::Wait).ok_or_else(|| {
                    TextError::new(text, "refuse, unbound or wait:SECONDS (1 to 300)")
                })
            }
        }
    }
}

impl fmt::Display for CpusetFail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refuse => f.write_str("refuse"),
            Self::Unbound => f.write_str("unbound"),
            Self::Wait(seconds) => write!(f, "wait:{seconds}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_and_written() {
        for text in ["refuse", "unbound", "wait:1", "wait:300"] {
            assert_eq!(text.parse::<CpusetFail>().unwrap().to_string(), text);
        }
        for text in [
            "", "wait", "wait:", "wait:0", "wait:301", "wait:-1", "wait:+5", "Refuse",
        ] {
            assert!(text.parse::<CpusetFail>().is_err(), "{text}");
        }
    }
}
