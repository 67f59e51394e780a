//! The text of a machine file: one JSON object, versioned.
//! In: a machine with its proof, or a text. Out: the other of the two, or why
//! not. Pure; strict and bounded, since what is read may be anybody's.
//!
//! Within a version fields are only added: a reader ignores unknown fields, and missing
//! fields count as empty.

use berth_placement::sets::cpuset::MAX_CPUS;
use berth_placement::sets::ids::{CpuId, NumaId};
use berth_placement::{Core, CpuSet, Machine, NumaNode, Package, Parts};
use serde::{Deserialize, Serialize};

use crate::kind_json::{DeviceText, KindText, bounded_texts, notes_to_write};
use crate::machine_format::{FormatError, VERSION, bounded, cpus, impossible, wrong};
use crate::online::Proof;

/// The content of a machine file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineFile {
    /// The machine.
    pub machine: Machine,
    /// Whether it is the machine that we run on, by hwloc's answer.
    pub this_system: bool,
    /// Its source in words: `this host`, `HWLOC_SYNTHETIC=…`.
    pub source: String,
    /// The facts that were true when it was found.
    pub proof: Proof,
    /// Version of the berth that wrote it.
    pub written_by: String,
    /// The parts that could not be found, in words: its devices, for example.
    pub notes: Vec<String>,
}

/// Only the fields that identify the text.
#[derive(Deserialize)]
struct Versioned {
    berth_machine: u64,
}

#[derive(Serialize, Deserialize)]
struct Text {
    berth_machine: u32,
    written_by: String,
    boot_id: String,
    online: String,
    this_system: bool,
    source: String,
    allowed: String,
    packages: Vec<Vec<Vec<u32>>>,
    numa: Vec<NumaText>,
    l3: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    numa_distances: Vec<Vec<u32>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    dies: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    l2: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    l1: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    order: Vec<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    kinds: Vec<KindText>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    isolated: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    held: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    devices: Vec<DeviceText>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct NumaText {
    id: u32,
    cpus: String,
}

/// The text, with a line's end.
///
/// # Errors
/// None that is known: the types have no form that JSON lacks.
pub(crate) fn write(file: &MachineFile) -> Result<String, serde_json::Error> {
    let parts = file.machine.parts();
    let text = Text {
        berth_machine: VERSION,
        written_by: file.written_by.clone(),
        boot_id: file.proof.boot_id.clone(),
        online: file.proof.online.clone(),
        this_system: file.this_system,
        source: file.source.clone(),
        allowed: parts.allowed.to_string(),
        packages: parts.packages.iter().map(package_text).collect(),
        numa: parts.numa_nodes.iter().map(numa_text).collect(),
        l3: lists(&parts.l3_caches),
        numa_distances: parts.numa_distances.clone(),
        dies: lists(&parts.dies),
        l2: lists(&parts.l2_caches),
        l1: lists(&parts.l1_caches),
        order: parts.whole_order.iter().map(|cpu| cpu.0).collect(),
        kinds: parts.kinds.iter().map(KindText::of).collect(),
        isolated: parts.isolated.to_string(),
        held: parts.held.to_string(),
        devices: parts.devices.iter().map(DeviceText::of).collect(),
        notes: notes_to_write(&file.notes),
    };
    serde_json::to_string(&text).map(|text| text + "\n")
}

fn lists(sets: &[CpuSet]) -> Vec<String> {
    sets.iter().map(CpuSet::to_string).collect()
}

fn package_text(package: &Package) -> Vec<Vec<u32>> {
    let core_text = |core: &Core| core.pus.iter().map(|cpu| cpu.0).collect();
    package.cores.iter().map(core_text).collect()
}

fn numa_text(node: &NumaNode) -> NumaText {
    NumaText {
        id: node.id.0,
        cpus: node.cpus.to_string(),
    }
}

/// Reads such a text.
///
/// # Errors
/// [`FormatError`] for any other.
pub(crate) fn read(bytes: &[u8]) -> Result<MachineFile, FormatError> {
    // The version is read first, because another one may have other fields.
    let versioned: Versioned = serde_json::from_slice(bytes).map_err(|why| wrong(&why))?;
    if versioned.berth_machine != u64::from(VERSION) {
        return Err(FormatError::Version(versioned.berth_machine));
    }
    let text: Text = serde_json::from_slice(bytes).map_err(|why| wrong(&why))?;
    let machine = Machine::new(parts(&text)?).map_err(impossible)?;
    Ok(MachineFile {
        machine,
        this_system: text.this_system,
        source: text.source,
        proof: Proof {
            boot_id: text.boot_id,
            online: text.online,
        },
        written_by: text.written_by,
        notes: bounded_texts(text.notes)?,
    })
}

fn parts(text: &Text) -> Result<Parts, FormatError> {
    Ok(Parts {
        packages: each(&text.packages, |cores| package(cores))?,
        numa_nodes: each(&text.numa, numa_node)?,
        l3_caches: each(&text.l3, |list| cpus(list))?,
        numa_distances: text.numa_distances.clone(),
        allowed: cpus(&text.allowed)?,
        dies: each(&text.dies, |list| cpus(list))?,
        l2_caches: each(&text.l2, |list| cpus(list))?,
        l1_caches: each(&text.l1, |list| cpus(list))?,
        whole_order: each(&text.order, |&cpu| bounded(cpu).map(CpuId))?,
        kinds: each(&text.kinds, KindText::read)?,
        isolated: cpus(&text.isolated)?,
        held: cpus(&text.held)?,
        devices: each(&text.devices, DeviceText::read)?,
    })
}

/// Reads a list of objects of one kind: no machine has more of them than CPUs.
fn each<T, U>(
    list: &[T],
    read: impl FnMut(&T) -> Result<U, FormatError>,
) -> Result<Vec<U>, FormatError> {
    if list.len() > MAX_CPUS as usize {
        return Err(FormatError::Machine(format!(
            "it has {} objects of one kind, and {MAX_CPUS} is the limit",
            list.len()
        )));
    }
    list.iter().map(read).collect()
}

fn package(cores: &[Vec<u32>]) -> Result<Package, FormatError> {
    let core = |pus: &Vec<u32>| {
        let pus = pus.iter().map(|&cpu| bounded(cpu).map(CpuId));
        Ok(Core {
            pus: pus.collect::<Result<_, _>>()?,
        })
    };
    Ok(Package {
        cores: cores.iter().map(core).collect::<Result<_, _>>()?,
    })
}

fn numa_node(node: &NumaText) -> Result<NumaNode, FormatError> {
    Ok(NumaNode {
        id: NumaId(bounded(node.id)?),
        cpus: cpus(&node.cpus)?,
    })
}
