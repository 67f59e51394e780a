//! hwloc to machine: this host, an XML file, or a synthetic string.
//! In: a [`Source`]. Out: berth's own [`berth_placement::Machine`] and where it
//! came from; no type of hwloc leaves this crate, and no file is written here.
//!
//! Discovery may hang or crash with broken firmware, so nothing that lives in
//! slurmd links this crate: the command does, as a child with a time limit.
#![forbid(unsafe_code)]

mod convert;
mod environment;
mod error;
mod load;
mod source;
mod synthetic;

use berth_placement::Machine;

pub use convert::SocketInfo;
pub use error::DiscoverError;
pub use source::Source;

/// A machine and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discovered {
    /// The tree; abstract cores are numbered as slurmd numbers them.
    pub machine: Machine,
    /// Whether it is the machine we run on, as hwloc says: only then may the
    /// kernel's set of online CPUs be compared with it.
    pub this_system: bool,
    /// In words: `this host`, `HWLOC_SYNTHETIC=…`, `file …`, `synthetic "…"`.
    pub source: String,
    /// How many sockets slurmd would count, by its setting.
    pub sockets: SocketInfo,
}

/// Finds the machine with hwloc: the whole system, disallowed CPUs included,
/// offline ones not, and only the objects that placement needs.
///
/// For [`Source::Live`] hwloc's own variables `HWLOC_SYNTHETIC` and
/// `HWLOC_XMLFILE` are honoured, as slurmd honours them; the other sources
/// ignore them.
///
/// # Errors
/// [`DiscoverError`] if the source cannot be read, describes no CPU or one CPU
/// twice, has CPU numbers beyond [`berth_placement::sets::cpuset::MAX_CPUS`], or if a
/// variable of hwloc's is set that hwloc cannot follow: hwloc itself would fall
/// back to this host in silence.
pub fn discover(source: &Source) -> Result<Discovered, DiscoverError> {
    match source {
        Source::Live => environment::discover_live(),
        Source::XmlFile(path) => finish(
            &load::from_xml_file(path)?,
            format!("file {}", path.display()),
        ),
        Source::Synthetic(text) => finish(
            &load::from_synthetic(text)?,
            format!("synthetic \"{text}\""),
        ),
    }
}

/// Turns a loaded topology into our own types.
fn finish(topology: &hwlocality::Topology, source: String) -> Result<Discovered, DiscoverError> {
    let machine = Machine::new(convert::parts(topology)?)?;
    Ok(Discovered {
        machine,
        this_system: topology.is_this_system(),
        source,
        sockets: convert::socket_info(topology),
    })
}
