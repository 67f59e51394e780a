//! `cpuset_fail=`: what a cpuset leads to that a node does not have at the moment.
//! In: the site's word. Out: [`CpusetFail`]. Pure.

use std::str::FromStr;

use derive_more::Display;

use crate::sets::error::TextError;

/// What a cpuset leads to that cannot be had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Display)]
pub enum CpusetFail {
    /// The step is refused.
    #[default]
    #[display("refuse")]
    Refuse,
    /// The step runs without a cpuset and without a binding, with a note.
    #[display("unbound")]
    Unbound,
}

impl FromStr for CpusetFail {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        match text {
            "refuse" => Ok(Self::Refuse),
            "unbound" => Ok(Self::Unbound),
            _ => Err(TextError::new(
                text,
                "refuse or unbound; no step waits for CPUs, because Slurm queues jobs",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_and_written() {
        for text in ["refuse", "unbound"] {
            assert_eq!(text.parse::<CpusetFail>().unwrap().to_string(), text);
        }
        for text in ["", "wait", "wait:5", "Refuse"] {
            assert!(text.parse::<CpusetFail>().is_err(), "{text}");
        }
    }
}
