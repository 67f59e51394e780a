//! Parts of a machine from hwloc's objects, whoever has read them: hwloc itself, or the reader of its XML.
//! In: hardware threads, NUMA nodes and distances, in hwloc's logical order. Out: packages of cores, nodes, and a row of
//! distances for each node. Pure.

use std::collections::HashMap;

use crate::sets::cpuset::CpuSet;
use crate::sets::ids::CpuId;
use crate::topology::parts::{Core, NumaNode, Package, Parts};

/// A hardware thread with the objects that it is in, each by its own number.
#[derive(Clone, Copy, Debug)]
pub struct PlacedPu {
    /// The kernel's number.
    pub cpu: CpuId,
    /// Its core.
    pub core: Option<u64>,
    /// Its package.
    pub package: Option<u64>,
}

/// A package under construction.
#[derive(Default)]
struct Cores {
    cores: Vec<Core>,
    last: Option<u64>,
}

impl Cores {
    /// Adds a hardware thread. One in no core is a core of its own.
    fn add(&mut self, pu: PlacedPu) {
        match self.cores.last_mut() {
            Some(core) if pu.core.is_some() && self.last == pu.core => core.pus.push(pu.cpu),
            _ => self.cores.push(Core { pus: vec![pu.cpu] }),
        }
        self.last = pu.core;
    }
}

/// The packages. Hardware threads come in topology order, so their cores and packages do too.
#[must_use]
pub fn packages(pus: impl IntoIterator<Item = PlacedPu>) -> Vec<Package> {
    let mut inside: Vec<(u64, Cores)> = Vec::new();
    let mut outside = Cores::default();
    for pu in pus {
        match (pu.package, inside.last_mut()) {
            (None, _) => outside.add(pu),
            (Some(package), Some((last, cores))) if *last == package => cores.add(pu),
            (Some(package), _) => {
                let mut cores = Cores::default();
                cores.add(pu);
                inside.push((package, cores));
            }
        }
    }
    let outside = Some(outside).filter(|outside| !outside.cores.is_empty());
    let all = inside.into_iter().map(|(_, cores)| cores).chain(outside);
    all.map(|all| Package { cores: all.cores }).collect()
}

/// A NUMA node, and whether it hangs under the machine itself.
#[derive(Clone, Debug)]
pub struct PlacedNode {
    /// With the CPUs of the object that it hangs under.
    pub node: NumaNode,
    /// If hwloc does not know the place of a node that has only memory, it hangs it under the machine with every CPU.
    pub is_under_machine: bool,
}

/// NUMA nodes in OS order. The kernel gives a node that has only memory no CPUs, and so do we. For other nodes hwloc
/// knows the nearest CPUs, which are kept.
#[must_use]
pub fn numa_nodes(found: Vec<PlacedNode>) -> Vec<NumaNode> {
    let some_below = found.iter().any(|one| !one.is_under_machine);
    let node = |one: PlacedNode| match some_below && one.is_under_machine {
        true => NumaNode {
            cpus: CpuSet::new(),
            ..one.node
        },
        false => one.node,
    };
    let mut nodes: Vec<_> = found.into_iter().map(node).collect();
    nodes.sort_by_key(|node| node.id);
    nodes
}

/// The distances between nodes, from a matrix of the nodes with these numbers. A distance that is missing is 0.
#[must_use]
pub fn distances(nodes: &[NumaNode], numbers: &[Option<u64>], matrix: &[u64]) -> Vec<Vec<u32>> {
    let places = numbers.iter().enumerate();
    let places: HashMap<u64, usize> = places.filter_map(|(at, id)| Some(((*id)?, at))).collect();
    let entry = |one: &NumaNode, other: &NumaNode| {
        let place = |node: &NumaNode| places.get(&node.id.0.into());
        let found = matrix.get(place(one)? * numbers.len() + place(other)?);
        found.map(|distance| u32::try_from(*distance).unwrap_or(u32::MAX - 1))
    };
    let row = |one| {
        let entries = nodes.iter().map(|other| entry(one, other).unwrap_or(0));
        entries.collect()
    };
    nodes.iter().map(row).collect()
}

impl Parts {
    /// Every CPU, in slurmd's order.
    pub fn pus(&self) -> impl Iterator<Item = CpuId> + '_ {
        let cores = self.packages.iter().flat_map(|package| &package.cores);
        cores.flat_map(|core| core.pus.iter().copied())
    }

    /// These parts with what slurmd's filters drop: dies, L1 and L2 caches, kinds of cores, and the order of the whole
    /// topology. A CPU that only the whole topology has is left out.
    #[must_use]
    pub fn with_whole(self, whole: Self) -> Self {
        let mut whole = whole.only(&self.pus().collect());
        if whole.whole_order.iter().copied().eq(self.pus()) {
            whole.whole_order.clear();
        }
        Self {
            dies: whole.dies,
            l2_caches: whole.l2_caches,
            l1_caches: whole.l1_caches,
            whole_order: whole.whole_order,
            kinds: whole.kinds,
            ..self
        }
    }
}
