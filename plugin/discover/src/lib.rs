//! Finds a machine with hwloc: this host, an XML file, or a synthetic string.
//! In: a [`Source`]. Out: berth's own [`berth_placement::Machine`] and where it
//! came from; no type of hwloc leaves this crate, and no file is written here.
//!
//! Discovery may hang or crash with broken firmware, so nothing that lives in
//! slurmd links this crate: the command does, as a child with a time limit.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![forbid(unsafe_code)]

mod convert;
mod devices;
mod environment;
mod error;
#[cfg(test)]
#[path = "../tests/common/facts.rs"]
mod facts_text;
mod load;
mod source;
mod topologies;

use berth_host::cgroup::held_by_others;
use berth_host::online::listed;
use berth_placement::topology::presets::Preset;
use berth_placement::{CpuSet, Device, Machine, MachineError};

use crate::environment::Live;
use crate::load::{Input, Objects};
use crate::topologies::Topologies;

pub use error::DiscoverError;
pub use source::Source;

/// A machine and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discovered {
    /// The tree; abstract cores are numbered as slurmd numbers them.
    pub machine: Machine,
    /// Whether it is the machine that we run on, by hwloc's answer: only then may the
    /// kernel's set of online CPUs be compared with it.
    pub this_system: bool,
    /// The source in words: `this host`, `HWLOC_SYNTHETIC=…`, `file …`, `synthetic "…"`.
    pub source: String,
    /// Whether [`probe_devices`] has yet to probe its devices. The devices of a file are in
    /// the file.
    pub unprobed: bool,
    /// The parts beside the cores that could not be found, in words for a log.
    pub notes: Vec<String>,
}

/// Finds the machine with hwloc: the whole system with disallowed CPUs, but without
/// offline ones.
///
/// hwloc looks twice. The first time it keeps the objects that slurmd keeps, which decide the order
/// of cores; the second time it also keeps the others. If only the second look fails, the machine
/// is known without these objects, and a note reports that.
///
/// For [`Source::Live`] hwloc's own variables `HWLOC_SYNTHETIC` and
/// `HWLOC_XMLFILE` are honoured, as slurmd honours them; the other sources
/// ignore them. Devices of this host are left to [`probe_devices`].
///
/// ```
/// use berth_discover::{Source, discover};
///
/// let source = Source::parse("pack:2 core:4 pu:2").unwrap();
/// let found = discover(&source).unwrap();
/// assert_eq!((found.machine.core_count(), found.machine.cpus().count()), (8, 16));
/// assert!(!found.this_system);
/// ```
///
/// # Errors
/// [`DiscoverError`] if the source cannot be read, describes no CPU or one CPU
/// twice, has CPU numbers beyond [`berth_placement::sets::cpuset::MAX_CPUS`], or if a
/// variable of hwloc's is set that hwloc cannot follow: hwloc itself would fall
/// back to this host in silence.
pub fn discover(source: &Source) -> Result<Discovered, DiscoverError> {
    match source {
        Source::Live => {
            let live = Live::from_variables()?;
            let topologies = Topologies::first(&live.input).map_err(|why| live.blame(why))?;
            live.check_followed(topologies.slurmds.is_this_system())?;
            finish(&live.input, &topologies, live.source)
        }
        Source::Known(preset) => known(preset),
        other => {
            let (input, words) = input(other)?;
            finish(&input, &Topologies::first(&input)?, words)
        }
    }
}

/// Finds the devices of a machine, in PCI order.
///
/// On this host that can hang or crash, so call it in a process of its own, with a time limit. With
/// `vendors`, hwloc also asks the vendors' drivers, which can wake sleeping devices.
///
/// # Errors
/// [`DiscoverError`], as [`discover`].
pub fn probe_devices(source: &Source, vendors: bool) -> Result<Vec<Device>, DiscoverError> {
    let input = match source {
        Source::Live => Live::from_variables()?.input,
        Source::Known(preset) => return Ok(known(preset)?.machine.devices().to_vec()),
        other => input(other)?.0,
    };
    devices::devices(&input.load(Objects::Devices { vendors })?)
}

/// A machine that is known without hwloc.
fn known(preset: &Preset) -> Result<Discovered, DiscoverError> {
    let machine = preset.machine().ok_or(MachineError::NoCpu)?;
    Ok(Discovered {
        machine,
        this_system: false,
        source: format!("known machine {}: {}", preset.name, preset.words),
        unprobed: false,
        notes: vec![format!("the facts are from {}", preset.source)],
    })
}

/// The input for hwloc, and its source in words.
fn input(source: &Source) -> Result<(Input, String), DiscoverError> {
    Ok(match source {
        Source::Live | Source::Known(_) => (Input::Host, "this host".into()),
        Source::XmlFile(path) => (
            Input::from_xml_file(path)?,
            format!("file {}", path.display()),
        ),
        Source::Synthetic(text) => (
            Input::from_synthetic(text)?,
            format!("synthetic \"{text}\""),
        ),
    })
}

/// Converts hwloc's view into our own types.
fn finish(
    input: &Input,
    topologies: &Topologies,
    source: String,
) -> Result<Discovered, DiscoverError> {
    let parts = convert::parts(&topologies.slurmds)?;
    let this_system = topologies.slurmds.is_this_system();
    let mut notes = Vec::new();
    let all = topologies.second(input, &parts).and_then(|mut all| {
        if this_system {
            all.isolated = isolated_cpus();
            all.held = held_by_others(&all.pus().collect());
        }
        Ok(Machine::new(all)?)
    });
    let machine = match all {
        Ok(machine) => machine,
        Err(why) => {
            notes.push(format!(
                "dies, L1 and L2 caches and kinds of cores are unknown: {why}"
            ));
            Machine::new(parts)?
        }
    };
    Ok(Discovered {
        machine,
        this_system,
        source,
        unprobed: matches!(input, Input::Host),
        notes,
    })
}

/// `isolcpus=` and `nohz_full=`, as the kernel shows them.
fn isolated_cpus() -> CpuSet {
    let mut cpus = listed("isolated");
    cpus.insert_all(&listed("nohz_full"));
    cpus
}
