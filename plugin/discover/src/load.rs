//! Has hwloc build a topology from one source, filtered as slurmd filters it.
//! In: a file, a string, or nothing for this host. Out: hwloc's topology.
//! The only file that asks hwloc to discover anything.

use std::fmt::Display;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use hwlocality::Topology;
use hwlocality::object::types::ObjectType;
use hwlocality::topology::builder::{BuildFlags, TopologyBuilder, TypeFilter};

use crate::error::{DiscoverError, shorten};
use crate::synthetic;

/// Largest XML file read, in bytes; the largest machines need a few million.
const MAX_XML: u64 = 64 << 20;

/// This host, or what hwloc's variables say.
pub(crate) fn live() -> Result<Topology, DiscoverError> {
    build(TopologyBuilder::new(), "this host")
}

/// A file that lstopo wrote.
///
/// We read it and hand hwloc the text: given the path of a missing file, the
/// wrapper panics on an errno that hwloc does not document.
pub(crate) fn from_xml_file(path: &Path) -> Result<Topology, DiscoverError> {
    let xml = read_bounded(path)?;
    // hwloc 2.9 takes an empty buffer, and parses what lies behind it.
    if !xml.contains('<') {
        return Err(DiscoverError::BadXml(path.into()));
    }
    let builder = TopologyBuilder::new()
        .from_xml(&xml)
        .map_err(|_| DiscoverError::BadXml(path.into()))?;
    // Of an XML buffer, hwloc parses most only while it loads.
    build(builder, "").map_err(|_| DiscoverError::BadXml(path.into()))
}

/// hwloc's short description.
pub(crate) fn from_synthetic(text: &str) -> Result<Topology, DiscoverError> {
    synthetic::check_size(text)?;
    let bad = || DiscoverError::BadSynthetic(shorten(text));
    let builder = TopologyBuilder::new()
        .from_synthetic(text)
        .map_err(|_| bad())?;
    build(builder, "").map_err(|_| bad())
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

fn build(builder: TopologyBuilder, what: &str) -> Result<Topology, DiscoverError> {
    filtered(builder)
        .and_then(|builder| builder.build().map_err(|why| why.to_string()))
        .map_err(|why| DiscoverError::Hwloc {
            what: what.into(),
            why,
        })
}

/// slurmd's own filters (`xcpuinfo_hwloc_topo_load`): they decide the order of
/// cores where a cache spans cores whose numbers are not neighbours.
///
/// I/O is left out for another reason too: probing devices has hung before.
fn filtered(builder: TopologyBuilder) -> Result<TopologyBuilder, String> {
    let mut builder = builder
        .with_flags(BuildFlags::INCLUDE_DISALLOWED)
        .map_err(text)?
        .with_io_type_filter(TypeFilter::KeepNone)
        .map_err(text)?
        .with_cpu_icache_type_filter(TypeFilter::KeepNone)
        .map_err(text)?;
    for kind in [
        ObjectType::L1Cache,
        ObjectType::L2Cache,
        ObjectType::L4Cache,
        ObjectType::L5Cache,
        ObjectType::Misc,
    ] {
        builder = builder
            .with_type_filter(kind, TypeFilter::KeepNone)
            .map_err(text)?;
    }
    Ok(builder)
}

fn text(why: impl Display) -> String {
    why.to_string()
}
