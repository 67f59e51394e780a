//! The text of a machine file: one JSON object, versioned. The parts of the machine stand in it under their own names.
//! In: a machine with its proof, or a text. Out: the other of the two, or why
//! not. Pure; strict and bounded, since what is read may be anybody's.
//!
//! Within a version fields are only added: a reader ignores unknown fields, and missing
//! fields count as empty.

use berth_placement::sets::limits::{INFO_BYTES, MAX_CPUS, MAX_DEVICES, MAX_INFOS};
use berth_placement::{Device, Machine, Parts};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::online::Proof;

/// The version that is written and read.
const VERSION: u64 = 2;

/// Longest note kept, in bytes: an error with a path in it fits.
const NOTE_BYTES: usize = 1024;

/// A text that is no machine file of ours.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum FormatError {
    /// The text ends too early: a writer died, or the disk was full.
    #[error("it ends in the middle")]
    Torn,
    /// Another program wrote it, or somebody edited it.
    #[error("it is not berth's machine file: {0}")]
    Foreign(String),
    /// Another release of berth wrote it.
    #[error("it is of version {0}, and this berth reads version {VERSION}")]
    Version(u64),
    /// The numbers in it do not form a machine.
    #[error("its machine is impossible: {0}")]
    Machine(String),
}

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

/// The fields beside the parts of the machine.
#[derive(Serialize, Deserialize)]
struct Header {
    berth_machine: u64,
    written_by: String,
    boot_id: String,
    online: String,
    this_system: bool,
    source: String,
    #[serde(default, skip_serializing)]
    notes: Vec<String>,
}

#[derive(Serialize)]
struct Text<'a> {
    #[serde(flatten)]
    header: Header,
    #[serde(flatten)]
    parts: &'a Parts,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<&'a str>,
}

/// The text, with a line's end.
///
/// # Errors
/// None that is known: the types have no form that JSON lacks.
pub(crate) fn write(file: &MachineFile) -> Result<String, serde_json::Error> {
    // Notes are cut here, so that the reader never finds many or long ones.
    let end = |note: &str| {
        (0..=NOTE_BYTES)
            .rev()
            .find(|end| note.is_char_boundary(*end))
    };
    let notes = file.notes.iter().take(MAX_INFOS);
    let text = Text {
        header: Header {
            berth_machine: VERSION,
            written_by: file.written_by.clone(),
            boot_id: file.proof.boot_id.clone(),
            online: file.proof.online.clone(),
            this_system: file.this_system,
            source: file.source.clone(),
            notes: Vec::new(),
        },
        parts: file.machine.parts(),
        notes: notes.filter_map(|note| note.get(..end(note)?)).collect(),
    };
    serde_json::to_string(&text).map(|text| text + "\n")
}

/// Reads such a text.
///
/// # Errors
/// [`FormatError`] for any other.
pub(crate) fn read(bytes: &[u8]) -> Result<MachineFile, FormatError> {
    // The version is read first, because another one may have other fields.
    let Versioned { berth_machine } = json(bytes)?;
    if berth_machine != VERSION {
        return Err(FormatError::Version(berth_machine));
    }
    let header: Header = json(bytes)?;
    check_texts(header.notes.iter(), MAX_INFOS, NOTE_BYTES)?;
    let parts: Parts = json(bytes)?;
    check(&parts)?;
    Ok(MachineFile {
        machine: Machine::new(parts).map_err(impossible)?,
        this_system: header.this_system,
        source: header.source,
        proof: Proof {
            boot_id: header.boot_id,
            online: header.online,
        },
        written_by: header.written_by,
        notes: header.notes,
    })
}

/// A list of devices for the process that waits for it.
///
/// # Errors
/// None that is known: the types have no form that JSON lacks.
pub fn devices_to_json(devices: &[Device]) -> serde_json::Result<String> {
    serde_json::to_string(devices)
}

/// Reads such a list.
///
/// # Errors
/// [`FormatError`] for any other text.
pub fn devices_from_json(bytes: &[u8]) -> Result<Vec<Device>, FormatError> {
    let devices: Vec<Device> = json(bytes)?;
    if devices.len() > MAX_DEVICES {
        let count = devices.len();
        let why = format!("it has {count} devices, and {MAX_DEVICES} is the limit");
        return Err(impossible(why));
    }
    check_devices(&devices)?;
    Ok(devices)
}

fn json<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, FormatError> {
    serde_json::from_slice(bytes).map_err(|why| match why.is_eof() {
        true => FormatError::Torn,
        false => FormatError::Foreign(why.to_string()),
    })
}

/// No machine has more objects of one kind than CPUs, and no number is as large.
fn check(parts: &Parts) -> Result<(), FormatError> {
    let counts = [
        parts.packages.len(),
        parts.numa_nodes.len(),
        parts.l3_caches.len(),
        parts.dies.len(),
        parts.l2_caches.len(),
        parts.l1_caches.len(),
        parts.whole_order.len(),
        parts.kinds.len(),
        parts.devices.len(),
    ];
    if let Some(count) = counts.iter().find(|count| **count > MAX_CPUS as usize) {
        let why = format!("it has {count} objects of one kind, and {MAX_CPUS} is the limit");
        return Err(impossible(why));
    }
    let cores = parts.packages.iter().flat_map(|package| &package.cores);
    let pus = cores.flat_map(|core| &core.pus).chain(&parts.whole_order);
    let nodes = parts.numa_nodes.iter().map(|node| node.id.0);
    check_numbers(pus.map(|cpu| cpu.0).chain(nodes))?;
    for kind in &parts.kinds {
        let texts = kind.infos.iter().flat_map(|(name, value)| [name, value]);
        check_texts(texts, 2 * MAX_INFOS, INFO_BYTES)?;
    }
    check_devices(&parts.devices)
}

fn check_devices(devices: &[Device]) -> Result<(), FormatError> {
    let near = devices.iter().filter_map(|device| device.numa_node);
    check_numbers(near.map(|node| node.0))?;
    let mut names = devices.iter().map(|device| device.names.iter());
    names.try_for_each(|names| check_texts(names, MAX_INFOS, INFO_BYTES))
}

fn check_numbers(mut numbers: impl Iterator<Item = u32>) -> Result<(), FormatError> {
    match numbers.find(|number| *number >= MAX_CPUS) {
        Some(number) => Err(impossible(format!(
            "it has the number {number}, and {MAX_CPUS} is the limit"
        ))),
        None => Ok(()),
    }
}

/// Texts are neither many nor long.
fn check_texts<'a>(
    texts: impl Iterator<Item = &'a String>,
    most: usize,
    bytes: usize,
) -> Result<(), FormatError> {
    match texts
        .enumerate()
        .any(|(at, text)| at >= most || text.len() > bytes)
    {
        true => Err(impossible(format!(
            "it has more than {most} texts in one place, or one above {bytes} bytes"
        ))),
        false => Ok(()),
    }
}

fn impossible(why: impl ToString) -> FormatError {
    FormatError::Machine(why.to_string())
}
