//! How far NUMA nodes are from each other.

use std::collections::HashMap;

use berth_placement::NumaNode;
use roxmltree::Node;

/// hwloc's bit of a matrix that means latency (`HWLOC_DISTANCES_KIND_MEANS_LATENCY`).
const MEANS_LATENCY: u32 = 4;

/// A row of distances for each node, 0 for one that is missing; nothing where the file has no matrix of them.
pub(super) fn of_numa(topology: Node<'_, '_>, nodes: &[NumaNode]) -> Vec<Vec<u32>> {
    let is_it = |node: &Node<'_, '_>| {
        let kind = node
            .attribute("kind")
            .and_then(|kind| kind.parse::<u32>().ok());
        node.tag_name().name() == "distances2"
            && node.attribute("type") == Some("NUMANode")
            && node.attribute("indexing") == Some("os")
            && kind.is_some_and(|kind| kind & MEANS_LATENCY != 0)
    };
    let Some(matrix) = topology.children().find(is_it) else {
        return Vec::new();
    };
    let ids = numbers(matrix, "indexes");
    let values = numbers(matrix, "u64values");
    let at: HashMap<u64, usize> = ids.iter().enumerate().map(|(at, id)| (*id, at)).collect();
    let entry = |one: &NumaNode, other: &NumaNode| {
        let place = |node: &NumaNode| at.get(&node.id.0.into());
        let found = values.get(place(one)? * ids.len() + place(other)?);
        found.map(|distance| u32::try_from(*distance).unwrap_or(u32::MAX - 1))
    };
    let row = |one| {
        nodes
            .iter()
            .map(|other| entry(one, other).unwrap_or(0))
            .collect()
    };
    nodes.iter().map(row).collect()
}

/// The numbers of all elements of this name; hwloc writes some in each.
fn numbers(matrix: Node<'_, '_>, name: &str) -> Vec<u64> {
    let parts = matrix
        .children()
        .filter(|node| node.tag_name().name() == name);
    let words = parts.flat_map(|node| node.text().unwrap_or_default().split_whitespace());
    words.filter_map(|word| word.parse().ok()).collect()
}
