//! Why a machine could not be discovered.
//! Each text says what was asked, what was found, what to do.
//! No type of hwloc's is in it.

use std::io;
use std::path::PathBuf;

use berth_placement::MachineError;
use berth_placement::sets::cpuset::MAX_CPUS;
use thiserror::Error;

/// The three forms a source has: shown wherever one could not be understood.
const FORMS: &str = "give \"live\" (this host), the path of an hwloc XML file (lstopo --of xml \
                     FILE), or a synthetic string such as \"pack:2 core:4 pu:2\"";

/// A machine that could not be had.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DiscoverError {
    /// An empty text.
    #[error("an empty text names no machine; {FORMS}")]
    Empty,
    /// It looks like a path, and nothing is there.
    #[error("\"{0}\" looks like a path, but no such file is there; {FORMS}")]
    NoSuchFile(String),
    /// The file is there and cannot be read.
    #[error("the machine file {path} cannot be read: {why}; {FORMS}")]
    Unreadable {
        /// The file asked for.
        path: PathBuf,
        /// What the system said.
        why: io::Error,
    },
    /// More than any machine's XML needs.
    #[error("{path} has more than {limit} bytes, so it is no hwloc XML file; {FORMS}")]
    TooLarge {
        /// The file asked for.
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
    /// A synthetic machine beyond every real one.
    #[error(
        "\"{0}\" asks for more than {MAX_CPUS} hardware threads; \
         write smaller counts: the kernel has no such machine"
    )]
    TooManyCpus(String),
    /// A variable of hwloc's that hwloc would have ignored in silence.
    #[error(
        "the environment has {name}={value}, and hwloc cannot follow it: {why}; correct it or \
         unset it (otherwise hwloc would silently show this host)"
    )]
    Variable {
        /// Name of the variable.
        name: &'static str,
        /// Its value, shortened.
        value: String,
        /// What is wrong with it.
        why: String,
    },
    /// hwloc failed in a way that is nobody's typing error.
    #[error("hwloc could not discover {what}: {why}; see whether lstopo works here")]
    Hwloc {
        /// What was to be discovered.
        what: String,
        /// hwloc's function and errno.
        why: String,
    },
    /// A number that no kernel gives.
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
    /// The tree is not one.
    #[error(transparent)]
    Machine(#[from] MachineError),
}

/// At most 80 characters of a text, so that an error never grows with its cause.
pub(crate) fn shorten(text: &str) -> String {
    let mut short: String = text.chars().take(80).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
