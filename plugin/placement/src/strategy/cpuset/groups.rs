//! Which NUMA nodes are within a radius of each other, and the most CPUs that one cpuset of a radius could have, as
//! LSF's `brlainfo -l` shows it. In: the candidates, a radius. Out: groups of NUMA nodes, by position, in which no two
//! are farther apart; a number. Pure.
//!
//! Up to [`EXACT`] NUMA nodes these are all groups that cannot grow. Beyond, one group for each NUMA node is tried: it
//! begins with that one and takes others from the largest offer down. On machines that nest (everything real does)
//! these are the same groups.

use crate::owned::Owned;
use crate::request::{Allocation, Request};
use crate::sets::cpuset::CpuSet;
use crate::strategy::cpuset::candidates::Candidates;
use crate::topology::node::Node;

/// NUMA nodes up to which the search tries everything.
pub(super) const EXACT: usize = 16;

/// The groups that cannot grow, each in the order of positions.
pub(super) fn within(candidates: &Candidates<'_>, radius: u32, most: &[u32]) -> Vec<Vec<usize>> {
    let count = candidates.offers.len();
    let near = |one: usize, other: usize| candidates.radius(one, other) <= radius;
    if (0..count).all(|one| (0..one).all(|other| near(one, other))) {
        return vec![(0..count).collect()];
    }
    if count > EXACT {
        return (0..count).map(|seed| grown(seed, most, near)).collect();
    }
    let neighbours = |one: usize| {
        let others = (0..count).filter(|other| *other != one && near(one, *other));
        others.fold(0_u32, |set, other| set | 1 << other)
    };
    let mut search = Search {
        neighbours: (0..count).map(neighbours).collect(),
        found: Vec::new(),
    };
    search.grow(0, (1 << count) - 1, 0);
    search.found
}

/// The group that begins with one NUMA node and takes the largest others that are near to all of it.
fn grown(seed: usize, most: &[u32], near: impl Fn(usize, usize) -> bool) -> Vec<usize> {
    let mut order: Vec<_> = (0..most.len()).filter(|at| *at != seed).collect();
    order.sort_by_key(|at| (std::cmp::Reverse(most[*at]), *at));
    let mut group = vec![seed];
    for at in order {
        if group.iter().all(|member| near(*member, at)) {
            group.push(at);
        }
    }
    group.sort_unstable();
    group
}

/// The search for all groups (Bron and Kerbosch, with a pivot).
struct Search {
    /// The NUMA nodes near to each.
    neighbours: Vec<u32>,
    found: Vec<Vec<usize>>,
}

impl Search {
    /// Grows a group by those of `open`; those of `seen` are in groups that were found before.
    fn grow(&mut self, group: u32, mut open: u32, mut seen: u32) {
        if open == 0 {
            if seen == 0 {
                self.found.push(members(group).collect());
            }
            return;
        }
        let shared = |at: &usize| (open & self.neighbours[*at]).count_ones();
        let pivot = members(open | seen).max_by_key(shared);
        let near_pivot = pivot.map_or(0, |at| self.neighbours[at]);
        for at in members(open & !near_pivot) {
            let near = self.neighbours[at];
            self.grow(group | 1 << at, open & near, seen & near);
            open &= !(1 << at);
            seen |= 1 << at;
        }
    }
}

fn members(set: u32) -> impl Iterator<Item = usize> {
    (0..u32::BITS as usize).filter(move |at| set >> at & 1 == 1)
}

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
    let groups = within(&candidates, radius, &most);
    let holds = groups
        .iter()
        .map(|group| group.iter().map(|at| most[*at]).sum());
    holds.max().unwrap_or(0)
}
