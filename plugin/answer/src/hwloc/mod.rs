//! Reads a machine from hwloc's own texts, without hwloc: its XML and its short descriptions. What is found is what
//! `berth discover` finds in the same text.
//!
//! In: text that anybody wrote. Out: a machine, or why there is none. Source: hwloc's own import (`topology-xml.c`,
//! `topology-synthetic.c`), and slurmd's filters (`xcpuinfo_hwloc_topo_load`).

mod devices;
mod parts;
mod synthetic;
mod xml;

use berth_placement::{Machine, MachineError};
use thiserror::Error;

use self::xml::MOST_BYTES;

/// A text that gives no machine.
#[derive(Debug, Error)]
pub enum NoMachine {
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
        /// The value of the attribute.
        value: String,
    },
    /// Objects are in each other more deeply than in any machine.
    #[error("its objects are in each other more deeply than in any machine")]
    TooDeep,
    /// A word of a description has another form.
    #[error("\"{0}\" is no level of a machine; write levels such as: pack:2 [numa] core:4 pu:2")]
    Word(String),
    /// A description's last level is another one.
    #[error(
        "the description does not end with its hardware threads; end it with a level such as core:4 or pu:2"
    )]
    NoThreads,
    /// A description has more hardware threads than any machine.
    #[error("the description has more hardware threads than any machine")]
    TooManyCpus,
    /// A description numbers the objects of a level in a way that is not read here.
    #[error(
        "{0} lists other numbers than the level has; write one number for each, such as indexes=0,2,1,3"
    )]
    Indexes(String),
    /// The machine that it describes cannot be.
    #[error("the text describes no machine: {0}")]
    Machine(#[from] MachineError),
}

/// The machine of hwloc's XML, version 2 or later. Its cores are in slurmd's order.
///
/// # Errors
/// [`NoMachine`]
pub fn machine_of_xml(text: &str) -> Result<Machine, NoMachine> {
    let document = xml::document(text)?;
    let topology = xml::topology(&document)?;
    let whole = xml::machine(topology)?;
    let mut parts = parts::of(&whole)?;
    parts.numa_distances = parts::of_numa(topology, &parts.numa_nodes);
    parts.kinds = parts::kinds(topology, &parts)?;
    parts.devices = devices::devices(&whole, &parts.numa_nodes)?;
    Ok(Machine::new(parts)?)
}

/// The machine of hwloc's short description, such as `pack:2 [numa] core:4 pu:2`. Each level names its type.
///
/// # Errors
/// [`NoMachine`]
pub fn machine_of_synthetic(text: &str) -> Result<Machine, NoMachine> {
    let whole = synthetic::levels(text)?.machine();
    Ok(Machine::new(parts::of(&whole)?)?)
}
