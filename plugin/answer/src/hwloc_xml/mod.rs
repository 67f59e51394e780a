//! Reads a machine from the text of hwloc's XML, without hwloc. What it finds is what `berth discover` finds in the same
//! file.
//!
//! In: text that anybody wrote, of hwloc 2 or later. Out: a machine, or why there is none. Source: hwloc's own import
//! (`topology-xml.c`), and slurmd's filters (`xcpuinfo_hwloc_topo_load`).

mod devices;
mod distances;
mod kinds;
mod object;
mod parts;

use berth_placement::{Machine, MachineError};
use roxmltree::{Document, ParsingOptions};
use thiserror::Error;

use self::object::{Import, Tree};

/// The longest text that is read, in bytes; the largest machines need a few million.
const MOST_BYTES: usize = 64 << 20;
/// Objects, attributes and texts of a file.
const MOST_NODES: u32 = 1 << 22;

/// A text that gives no machine.
#[derive(Debug, Error)]
pub enum XmlError {
    /// It is longer than any machine needs.
    #[error("the text has {0} bytes; a machine has at most {MOST_BYTES}")]
    TooLong(usize),
    /// It is no XML.
    #[error("the text is no XML: {0}; write one with: lstopo --of xml machine.xml")]
    NoXml(#[from] roxmltree::Error),
    /// It has no machine of hwloc's.
    #[error(
        "the text is XML, but describes no machine of hwloc's; write one with: lstopo --of xml machine.xml"
    )]
    NoTopology,
    /// hwloc 1 wrote it.
    #[error("hwloc 1 wrote this file; convert it with: lstopo -i machine.xml --of xml new.xml")]
    OldVersion,
    /// An object has a value that no machine has.
    #[error("an object of type {kind} has {name}=\"{value}\", which no machine has")]
    Value {
        /// The object's type.
        kind: String,
        /// The attribute.
        name: &'static str,
        /// What stands there.
        value: String,
    },
    /// Objects are in each other more deeply than in any machine.
    #[error("its objects are in each other more deeply than in any machine")]
    TooDeep,
    /// The machine that it describes cannot be.
    #[error("the file describes no machine: {0}")]
    Machine(#[from] MachineError),
}

/// The machine of a file. Its cores are in slurmd's order.
///
/// # Errors
/// [`XmlError`]
pub fn machine(text: &str) -> Result<Machine, XmlError> {
    if text.len() > MOST_BYTES {
        return Err(XmlError::TooLong(text.len()));
    }
    let options = ParsingOptions {
        // hwloc names its own one, and nobody reads it.
        allow_dtd: true,
        nodes_limit: MOST_NODES,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(text, options)?;
    let topology = document.root_element();
    if topology.tag_name().name() != "topology" {
        return Err(XmlError::NoTopology);
    }
    if !topology.has_attribute("version") {
        return Err(XmlError::OldVersion);
    }
    let slurmds = Tree::of(topology, Import::Slurmds)?;
    let whole = Tree::of(topology, Import::Whole)?;
    let mut parts = parts::slurmds(&slurmds)?;
    parts.numa_distances = distances::of_numa(topology, &parts.numa_nodes);
    parts::add_dropped(&whole, &mut parts);
    parts.kinds = kinds::kinds(topology, &parts)?;
    parts.devices = devices::devices(&whole, &parts.numa_nodes)?;
    Ok(Machine::new(parts)?)
}
