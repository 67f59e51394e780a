//! How far NUMA nodes are from each other. In: a topology, its NUMA nodes. Out: a row of distances for
//! each node, or nothing where hwloc has no matrix of them.

use std::collections::HashMap;

use berth_placement::NumaNode;
use hwlocality::Topology;
use hwlocality::object::TopologyObject;
use hwlocality::object::distance::DistancesKind;
use hwlocality::object::types::ObjectType;

/// The distances of the nodes, in their order. A distance that is missing is 0; without any the list
/// is empty.
pub(crate) fn numa_distances(topology: &Topology, nodes: &[NumaNode]) -> Vec<Vec<u32>> {
    let latency = Some(DistancesKind::MEANS_LATENCY);
    let found = topology.distances_with_type(latency, ObjectType::NUMANode);
    let Ok(matrices) = found else {
        return Vec::new();
    };
    // hwloc has one matrix of them, unless somebody added others to a file.
    let Some(matrix) = matrices.first() else {
        return Vec::new();
    };
    let number = |object: Option<&TopologyObject>| object.and_then(TopologyObject::os_index);
    let at: HashMap<_, _> = matrix
        .objects()
        .enumerate()
        .filter_map(|(at, object)| Some((number(object)?, at)))
        .collect();
    let count = matrix.num_objects();
    let all = matrix.distances();
    let entry = |one: &NumaNode, other: &NumaNode| {
        let place = |node: &NumaNode| at.get(&(node.id.0 as usize));
        let found = all.get(place(one)? * count + place(other)?);
        found.map(|distance| u32::try_from(*distance).unwrap_or(u32::MAX - 1))
    };
    let row = |one| {
        let entries = nodes
            .iter()
            .map(move |other| entry(one, other).unwrap_or(0));
        entries.collect()
    };
    nodes.iter().map(row).collect()
}
