//! How far NUMA nodes are from each other. In: a topology, its NUMA nodes. Out: a row of distances for
//! each node, or nothing where hwloc has no matrix of them.

use berth_placement::NumaNode;
use berth_placement::topology::assembly::distances;
use hwlocality::Topology;
use hwlocality::object::TopologyObject;
use hwlocality::object::distance::DistancesKind;
use hwlocality::object::types::ObjectType;

/// The distances of the nodes, in their order; without any the list is empty.
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
    let number = |object: Option<&TopologyObject>| Some(object?.os_index()? as u64);
    let numbers: Vec<_> = matrix.objects().map(number).collect();
    distances(nodes, &numbers, matrix.distances())
}
