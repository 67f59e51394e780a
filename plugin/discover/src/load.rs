//! Lets hwloc build a topology from one source, with the requested objects.
//! In: a file, a string, or nothing for this host. Out: hwloc's topology.
//! The only file that asks hwloc to discover anything.

use std::fmt::Display;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use hwlocality::Topology;
use hwlocality::object::types::ObjectType;
use hwlocality::topology::builder::{BuildFlags, TopologyBuilder, TypeFilter};

use crate::error::{DiscoverError, shorten};
use crate::source;

/// Largest XML file read, in bytes; the largest machines need a few million.
const MAX_XML: u64 = 64 << 20;

/// Objects of the tree that slurmd drops.
pub(crate) const DROPPED: [ObjectType; 4] = [
    ObjectType::L1Cache,
    ObjectType::L2Cache,
    ObjectType::L4Cache,
    ObjectType::L5Cache,
];

/// The source that hwloc discovers by default.
const HOST: &str = "this host";

/// Parts of hwloc that ask a vendor's driver. They can hang, and wake sleeping devices.
const VENDORS: [&str; 6] = ["cuda", "nvml", "opencl", "rsmi", "levelzero", "gl"];

/// The input for hwloc: once chosen, it can be loaded several times.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    /// This host, or the machine that hwloc's variables put in its place.
    Host,
    /// The text of a file that lstopo wrote.
    Xml { path: PathBuf, text: String },
    /// hwloc's short description.
    Synthetic(String),
}

/// Which objects a topology keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Objects {
    /// slurmd's own filters (`xcpuinfo_hwloc_topo_load`): they decide the order of
    /// cores where a cache spans cores whose numbers are not neighbours.
    Slurmds,
    /// Also the objects that they drop, but no devices.
    All,
    /// Devices too. On this host hwloc must probe them, and probing has hung before.
    Devices { vendors: bool },
}

impl Input {
    /// A file that lstopo wrote.
    ///
    /// We read it and hand hwloc the text: given the path of a missing file, the
    /// wrapper panics on an errno that hwloc does not document.
    pub(crate) fn from_xml_file(path: &Path) -> Result<Self, DiscoverError> {
        let text = read_bounded(path)?;
        // hwloc 2.9 accepts an empty buffer, and parses the memory behind it.
        if !text.contains('<') {
            return Err(DiscoverError::BadXml(path.into()));
        }
        let path = path.into();
        Ok(Self::Xml { path, text })
    }

    /// hwloc's short description.
    pub(crate) fn from_synthetic(text: &str) -> Result<Self, DiscoverError> {
        source::check_size(text)?;
        Ok(Self::Synthetic(text.into()))
    }

    /// Lets hwloc discover it.
    pub(crate) fn load(&self, objects: Objects) -> Result<Topology, DiscoverError> {
        match self {
            Self::Host => {
                let mut builder = TopologyBuilder::new();
                if objects == (Objects::Devices { vendors: false }) {
                    builder = without_vendors(builder)?;
                }
                build(builder, objects, HOST)
            }
            Self::Xml { path, text } => {
                let bad = || DiscoverError::BadXml(path.clone());
                let builder = TopologyBuilder::new().from_xml(text).map_err(|_| bad())?;
                // Of an XML buffer, hwloc parses most only while it loads.
                build(builder, objects, "").map_err(|_| bad())
            }
            Self::Synthetic(text) => {
                let bad = || DiscoverError::BadSynthetic(shorten(text));
                let builder = TopologyBuilder::new().from_synthetic(text);
                build(builder.map_err(|_| bad())?, objects, "").map_err(|_| bad())
            }
        }
    }
}

fn read_bounded(path: &Path) -> Result<String, DiscoverError> {
    let unreadable = |why| DiscoverError::Unreadable {
        path: path.into(),
        why,
    };
    let file = File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(MAX_XML + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() as u64 > MAX_XML {
        return Err(DiscoverError::TooLarge {
            path: path.into(),
            limit: MAX_XML,
        });
    }
    // Old exports hold vendor texts in other encodings; none matters to us.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn build(
    builder: TopologyBuilder,
    objects: Objects,
    what: &str,
) -> Result<Topology, DiscoverError> {
    filtered(builder, objects)
        .and_then(|builder| builder.build().map_err(|why| why.to_string()))
        .map_err(|why| DiscoverError::Hwloc {
            what: what.into(),
            why,
        })
}

fn filtered(builder: TopologyBuilder, objects: Objects) -> Result<TopologyBuilder, String> {
    let devices = match objects {
        Objects::Devices { .. } => TypeFilter::KeepImportant,
        Objects::Slurmds | Objects::All => TypeFilter::KeepNone,
    };
    let mut builder = builder
        .with_flags(BuildFlags::INCLUDE_DISALLOWED)
        .map_err(text)?
        .with_io_type_filter(devices)
        .map_err(text)?
        .with_cpu_icache_type_filter(TypeFilter::KeepNone)
        .map_err(text)?
        .with_type_filter(ObjectType::Misc, TypeFilter::KeepNone)
        .map_err(text)?;
    if objects == Objects::Slurmds {
        for kind in DROPPED {
            builder = builder
                .with_type_filter(kind, TypeFilter::KeepNone)
                .map_err(text)?;
        }
    }
    Ok(builder)
}

/// Switches off the named parts of hwloc that exist; hwloc refuses the name of a missing one.
fn without_vendors(builder: TopologyBuilder) -> Result<TopologyBuilder, DiscoverError> {
    let is_there = |name: &&&str| TopologyBuilder::new().without_component(name).is_ok();
    let mut there = VENDORS.iter().filter(is_there);
    there
        .try_fold(builder, |builder, name| builder.without_component(name))
        .map_err(|why| DiscoverError::Hwloc {
            what: HOST.into(),
            why: why.to_string(),
        })
}

fn text(why: impl Display) -> String {
    why.to_string()
}
