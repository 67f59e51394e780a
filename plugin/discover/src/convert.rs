//! Converts what hwloc has found into berth's tree: objects, distances of NUMA nodes, kinds of cores, names and values.
//! In: a loaded topology; C strings of firmware and drivers, or of a file that anybody wrote. Out: packages of cores of
//! hardware threads, memory and L3 domains, allowed CPUs; short texts without control characters. Order is hwloc's
//! logical order, which slurmd follows. hwloc before 2.4 knows no kinds of cores, nor does berth if it is built for
//! such a release (without the feature `core-kinds`).

use std::ffi::CStr;

use berth_placement::sets::cpuset::MAX_CPUS;
use berth_placement::sets::ids::{CpuId, NumaId};
use berth_placement::sets::limits::INFO_BYTES;
use berth_placement::sets::text::harmless;
use berth_placement::topology::assembly::{self, PlacedNode, PlacedPu, distances};
use berth_placement::{CoreKind, CpuSet, NumaNode, Package, Parts};
use hwlocality::Topology;
use hwlocality::object::distance::DistancesKind;
use hwlocality::object::types::ObjectType;
use hwlocality::object::{TopologyObject, TopologyObjectID};

use crate::error::DiscoverError;

/// The parts that slurmd's own filters leave.
pub(crate) fn parts(topology: &Topology) -> Result<Parts, DiscoverError> {
    let numa_nodes = numa_nodes(topology)?;
    Ok(Parts {
        packages: packages(topology)?,
        numa_distances: numa_distances(topology, &numa_nodes),
        numa_nodes,
        l3_caches: objects(topology, ObjectType::L3Cache)?,
        allowed: to_cpuset(topology.allowed_cpuset().iter_set().map(usize::from))?,
        ..Parts::default()
    })
}

fn packages(topology: &Topology) -> Result<Vec<Package>, DiscoverError> {
    let placed = |pu| {
        Ok(PlacedPu {
            cpu: CpuId(os_number(pu, "hardware thread")?),
            core: ancestor(pu, ObjectType::Core),
            package: ancestor(pu, ObjectType::Package),
        })
    };
    let pus = topology.objects_with_type(ObjectType::PU).map(placed);
    Ok(assembly::packages(
        pus.collect::<Result<Vec<_>, DiscoverError>>()?,
    ))
}

fn ancestor(pu: &TopologyObject, kind: ObjectType) -> Option<TopologyObjectID> {
    pu.first_ancestor_with_type(kind)
        .map(TopologyObject::global_persistent_index)
}

/// NUMA nodes in OS order.
pub(crate) fn numa_nodes(topology: &Topology) -> Result<Vec<NumaNode>, DiscoverError> {
    let placed = |object: &TopologyObject| {
        let parent = object.parent().map(TopologyObject::object_type);
        Ok(PlacedNode {
            node: NumaNode {
                id: NumaId(os_number(object, "NUMA node")?),
                cpus: cpus_of(object)?,
            },
            is_under_machine: parent == Some(ObjectType::Machine),
        })
    };
    let objects = topology.objects_with_type(ObjectType::NUMANode);
    let found = objects.map(placed).collect::<Result<_, DiscoverError>>()?;
    Ok(assembly::numa_nodes(found))
}

/// The CPUs of each object of a kind, in hwloc's logical order.
pub(crate) fn objects(topology: &Topology, kind: ObjectType) -> Result<Vec<CpuSet>, DiscoverError> {
    topology.objects_with_type(kind).map(cpus_of).collect()
}

pub(crate) fn cpus_of(object: &TopologyObject) -> Result<CpuSet, DiscoverError> {
    match object.cpuset() {
        Some(cpus) => to_cpuset(cpus.iter_set().map(usize::from)),
        None => Ok(CpuSet::new()),
    }
}

/// hwloc's bitmaps may be infinite, so the bound ends them too.
fn to_cpuset(cpus: impl Iterator<Item = usize>) -> Result<CpuSet, DiscoverError> {
    cpus.map(|cpu| bounded(Some(cpu), "hardware thread").map(CpuId))
        .collect()
}

pub(crate) fn os_number(object: &TopologyObject, kind: &'static str) -> Result<u32, DiscoverError> {
    bounded(object.os_index(), kind)
}

fn bounded(number: Option<usize>, kind: &'static str) -> Result<u32, DiscoverError> {
    number
        .and_then(|number| u32::try_from(number).ok())
        .filter(|number| *number < MAX_CPUS)
        .ok_or_else(|| DiscoverError::OsNumber {
            kind,
            found: number.map_or("nothing".into(), |number| number.to_string()),
        })
}

/// The distances of the nodes, in their order; without any the list is empty.
fn numa_distances(topology: &Topology, nodes: &[NumaNode]) -> Vec<Vec<u32>> {
    let latency = Some(DistancesKind::MEANS_LATENCY);
    let found = topology.distances_with_type(latency, ObjectType::NUMANode);
    let Ok(matrices) = found else {
        return Vec::new();
    };
    // hwloc has one matrix of them, unless somebody added others to a file.
    let Some(matrix) = matrices.first() else {
        return Vec::new();
    };
    let number = |object: Option<&TopologyObject>| Some(object?.os_index()? as u64);
    let numbers: Vec<_> = matrix.objects().map(number).collect();
    distances(nodes, &numbers, matrix.distances())
}

/// Every kind that hwloc has found.
#[cfg(feature = "core-kinds")]
pub(crate) fn kinds(topology: &Topology) -> Result<Vec<CoreKind>, DiscoverError> {
    let Ok(kinds) = topology.cpu_kinds() else {
        return Ok(Vec::new());
    };
    kinds
        .map(|kind| {
            Ok(CoreKind {
                cpus: to_cpuset(kind.cpuset.iter_set().map(usize::from))?,
                rank: kind.efficiency.and_then(|rank| u32::try_from(rank).ok()),
                infos: pairs(kind.infos),
            })
        })
        .collect()
}

/// None.
#[cfg(not(feature = "core-kinds"))]
pub(crate) fn kinds(_: &Topology) -> Result<Vec<CoreKind>, DiscoverError> {
    Ok(Vec::new())
}

/// A name or a value, cut if it is long.
pub(crate) fn clean(text: &CStr) -> String {
    harmless(&text.to_string_lossy(), INFO_BYTES)
}

/// Names with their values; if there are too many, only the first ones.
#[cfg(feature = "core-kinds")]
fn pairs(infos: &[hwlocality::info::TextualInfo]) -> Vec<(String, String)> {
    let infos = infos.iter().take(berth_placement::sets::limits::MAX_INFOS);
    infos
        .map(|info| (clean(info.name()), clean(info.value())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_short_and_harmless() {
        assert_eq!(clean(c" mlx5_0 "), "mlx5_0");
        assert_eq!(clean(c"a\x1b[31mb"), "a\u{fffd}[31mb");
        let long = format!("{}×", "y".repeat(INFO_BYTES - 1));
        let long = std::ffi::CString::new(long).unwrap();
        assert_eq!(clean(&long), "y".repeat(INFO_BYTES - 1));
        let control = std::ffi::CString::new("\x01".repeat(INFO_BYTES)).unwrap();
        assert!(clean(&control).len() <= INFO_BYTES);
    }
}
