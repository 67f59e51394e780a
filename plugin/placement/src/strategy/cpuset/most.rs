//! The most CPUs that one cpuset of a radius could have, as LSF's `brlainfo -l` shows it.
//! In: the node, free CPUs, a radius. Out: a number. Pure.

use crate::owned::Owned;
use crate::request::{Allocation, Request};
use crate::sets::cpuset::CpuSet;
use crate::strategy::cpuset::candidates::Candidates;
use crate::strategy::cpuset::groups;
use crate::topology::node::Node;

/// The most free CPUs that one cpuset of a radius could have.
///
/// ```
/// use berth_placement::strategy::cpuset::most_of_radius;
/// use berth_placement::*;
///
/// let machine = Machine::regular(2, 2, 1, Numbering::Block).unwrap();
/// let node = Node::of(machine, SocketKind::Package, Rules::default());
/// let free = CpuSet::from_list("0-2").unwrap();
/// assert_eq!([0, 2].map(|radius| most_of_radius(&node, &free, radius)), [2, 3]);
/// ```
#[must_use]
pub fn most_of_radius(node: &Node, free: &CpuSet, radius: u32) -> u32 {
    let node = node.by_tree();
    let request = Request {
        allocation: Allocation::Cpus(free.clone()),
        ..Request::default()
    };
    let owned = Owned::of(&request, node);
    let limit = node.counts_cores().then_some(1);
    let candidates = Candidates::of(node, &owned, free, limit);
    let most: Vec<_> = candidates.offers.iter().map(|offer| offer.units).collect();
    let groups = groups::within(&candidates, radius, &most);
    let holds = groups
        .iter()
        .map(|group| group.iter().map(|at| most[*at]).sum());
    holds.max().unwrap_or(0)
}
