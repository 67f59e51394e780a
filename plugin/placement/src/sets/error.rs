//! Errors of texts and machines. Each message states what was expected,
//! what was found and what to do.

use std::fmt;

use derive_more::Display;

use crate::sets::cpuset::MAX_CPUS;
use crate::sets::ids::CpuId;
use crate::sets::limits::MAX_DEVICES;

/// A text that cannot be read as what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError {
    found: String,
    wanted: String,
}

impl TextError {
    /// `found` is the text, and `wanted` what it should be: `"x" is not …`. Only the beginning of a
    /// long text is kept.
    #[must_use]
    pub fn new(found: &str, wanted: &str) -> Self {
        // A list of a megabyte must not become an error of a megabyte.
        let mut letters = found.chars();
        // Nor may a user's escape sequence reach an administrator's terminal.
        let shown = letters.by_ref().take(40).map(|letter| match letter {
            control if control.is_control() => char::REPLACEMENT_CHARACTER,
            other => other,
        });
        let mut short: String = shown.collect();
        if letters.next().is_some() {
            short.push('…');
        }
        Self {
            found: short,
            wanted: wanted.into(),
        }
    }

    pub(crate) fn too_large(found: &str) -> Self {
        Self::new(found, &format!("CPU numbers below {MAX_CPUS}"))
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.found.as_str() {
            "" => write!(f, "an empty text is not {}", self.wanted),
            found => write!(f, "\"{found}\" is not {}", self.wanted),
        }
    }
}

impl std::error::Error for TextError {}

/// A machine that cannot exist.
#[derive(Clone, Debug, PartialEq, Eq, Display)]
pub enum MachineError {
    /// There is no hardware thread.
    #[display("the machine description has no CPU; check the file or the synthetic string")]
    NoCpu,
    /// One CPU number stands in two cores.
    #[display(
        "the machine description has CPU {_0} in two cores; it was edited or cut: export it again with lstopo"
    )]
    CpuTwice(CpuId),
    /// One CPU stands in two objects of one kind.
    #[display(
        "the machine description has CPU {cpu} in two {what}; it was edited or cut: export it again with lstopo"
    )]
    Shared {
        /// The CPU.
        cpu: CpuId,
        /// The kind, in words: `L2 caches`.
        what: &'static str,
    },
    /// The distances are not one for each two NUMA nodes.
    #[display(
        "the machine description has {nodes} NUMA nodes and not one distance for each two of them; it was \
         edited or cut: export it again with lstopo"
    )]
    Distances {
        /// NUMA nodes.
        nodes: usize,
    },
    /// There are more devices than any node has.
    #[display("the machine description has {_0} devices, and {MAX_DEVICES} is the limit")]
    TooManyDevices(usize),
}

impl std::error::Error for MachineError {}
