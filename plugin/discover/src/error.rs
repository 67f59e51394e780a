//! The reasons why a machine could not be discovered.
//! Each text states what was requested, what was found and what to do.
//! No type of hwloc is in it.

use std::io;
use std::path::PathBuf;

use berth_placement::MachineError;
use berth_placement::sets::cpuset::MAX_CPUS;
use thiserror::Error;

/// The forms of a source. A message shows them if a source could not be understood.
const FORMS: &str = "give \"live\" (this host), a known machine (berth topo --machine list), the \
                     path of an hwloc XML file (lstopo --of xml FILE), or a synthetic string such \
                     as \"pack:2 core:4 pu:2\"";

/// A machine that could not be discovered.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DiscoverError {
    /// An empty text.
    #[error("an empty text names no machine; {FORMS}")]
    Empty,
    /// The text looks like a path, but no such file exists.
    #[error("\"{0}\" looks like a path, but no such file is there; {FORMS}")]
    NoSuchFile(String),
    /// The file exists and cannot be read.
    #[error("the machine file {path} cannot be read: {why}; {FORMS}")]
    Unreadable {
        /// The requested file.
        path: PathBuf,
        /// The system's error.
        why: io::Error,
    },
    /// The file is larger than any machine's XML.
    #[error("{path} has more than {limit} bytes, so it is no hwloc XML file; {FORMS}")]
    TooLarge {
        /// The requested file.
        path: PathBuf,
        /// Greatest size read, in bytes.
        limit: u64,
    },
    /// hwloc does not understand the file.
    #[error(
        "hwloc cannot read {0} as XML: it is cut, empty, or of another kind; \
         export it again (lstopo --of xml FILE), or {FORMS}"
    )]
    BadXml(PathBuf),
    /// hwloc does not understand the string.
    #[error("\"{0}\" is neither a file nor a synthetic string that hwloc understands; {FORMS}")]
    BadSynthetic(String),
    /// The synthetic machine is larger than every real one.
    #[error(
        "\"{0}\" asks for more than {MAX_CPUS} hardware threads; \
         write smaller counts: the kernel has no such machine"
    )]
    TooManyCpus(String),
    /// hwloc would have silently ignored one of its variables.
    #[error(
        "the environment has {name}={value}, and hwloc cannot follow it: {why}; correct it or \
         unset it (otherwise hwloc would silently show this host)"
    )]
    Variable {
        /// Name of the variable.
        name: &'static str,
        /// Its value, shortened.
        value: String,
        /// The fault.
        why: String,
    },
    /// hwloc failed, and no typing error caused it.
    #[error("hwloc could not discover {what}: {why}; see whether lstopo works here")]
    Hwloc {
        /// The machine that was to be discovered.
        what: String,
        /// hwloc's function and errno.
        why: String,
    },
    /// A number is one that no kernel gives.
    #[error(
        "the machine has a {kind} numbered {found}; expected an OS number below {MAX_CPUS}: \
         export the file again with lstopo"
    )]
    OsNumber {
        /// `hardware thread` or `NUMA node`.
        kind: &'static str,
        /// The number, or `nothing`.
        found: String,
    },
    /// The parts do not form a tree.
    #[error(transparent)]
    Machine(#[from] MachineError),
}

impl DiscoverError {
    /// Whether the text or file that names the machine is at fault, and not hwloc or this host.
    #[must_use]
    pub fn is_input(&self) -> bool {
        !matches!(self, Self::Hwloc { .. })
    }
}

/// At most 80 characters of a text, so an error never grows with its cause.
pub(crate) fn shorten(text: &str) -> String {
    let mut short: String = text.chars().take(80).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
