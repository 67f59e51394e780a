//! The node's cores as a tree: which of them are neighbours, and where objects begin.
//! In: the machine, the table of hardware threads. Out: the cores in an order in which the cores of
//! each object stand together. Pure.
//!
//! The layers are kinds of cores, packages, dies, NUMA nodes, L3 and L2 caches. A layer whose objects
//! contain those of the layer above changes places with it, because kinds nest as the machine has
//! them, and not as their names suggest. Where objects overlap, the part inside the object of the
//! layer above counts as an object. Cores outside all objects of a layer are one more object there.

use std::collections::HashMap;

use crate::request::grid_engine::Place;
use crate::topology::machine::Machine;
use crate::topology::objects::{ObjectKind, ObjectOfCpu};
use crate::topology::pu_table::PuTable;

/// A layer of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// Performance cores first, then slower ones.
    CoreKinds,
    /// Objects of a kind.
    Objects(ObjectKind),
}

/// A core in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NestCore {
    /// Its number in a credential.
    pub index: u32,
    /// Its logical numbers.
    pub place: Place,
    /// The widest layer, by its position, in which it is in another object than the core before
    /// it; the number of layers if it is in the same object of each.
    pub gap: u8,
}

/// The tree.
#[derive(Clone, Debug, Default)]
pub struct Nest {
    layers: Vec<Layer>,
    cores: Vec<NestCore>,
}

/// Kinds of objects that cores are divided by, from wide to narrow.
const DIVIDED_BY: [ObjectKind; 5] = [
    ObjectKind::Package,
    ObjectKind::Die,
    ObjectKind::Numa,
    ObjectKind::L3,
    ObjectKind::L2,
];

impl Nest {
    pub(crate) fn of(machine: Option<&Machine>, table: &PuTable) -> Self {
        let cores = places(table);
        let mut layers = match machine {
            Some(machine) => labelled(machine, table, &cores),
            None => {
                let sockets = cores.iter().map(|(_, place)| place.socket).collect();
                vec![(Layer::Objects(ObjectKind::Package), sockets)]
            }
        };
        layers.retain(|(_, labels)| labels.iter().any(|label| Some(label) != labels.first()));
        wide_before_narrow(&mut layers);
        let path = |at: usize| layers.iter().map(move |(_, labels)| labels[at]);
        let mut order: Vec<usize> = (0..cores.len()).collect();
        order.sort_by(|one, other| path(*one).cmp(path(*other)));
        let gap = |place: usize| match place.checked_sub(1) {
            None => 0,
            Some(before) => {
                let pairs = path(order[before]).zip(path(order[place]));
                pairs.take_while(|(one, other)| one == other).count() as u8
            }
        };
        let core = |at: usize| NestCore {
            index: cores[order[at]].0,
            place: cores[order[at]].1,
            gap: gap(at),
        };
        Self {
            cores: (0..order.len()).map(core).collect(),
            layers: layers.iter().map(|(layer, _)| *layer).collect(),
        }
    }

    /// The layers that divide the node, from wide to narrow.
    #[must_use]
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// The cores; those of each object stand together.
    #[must_use]
    pub fn cores(&self) -> &[NestCore] {
        &self.cores
    }
}

/// Each core's number and place, in slurmd's order.
fn places(table: &PuTable) -> Vec<(u32, Place)> {
    let mut cores = Vec::with_capacity(table.cores.len());
    for socket in 0..table.sockets.len() as u32 {
        for (core, pus) in (0..).zip(table.cores_of_socket(socket)) {
            let index = pus.first().map_or(0, |pu| table.cores.of(*pu));
            cores.push((index, Place { socket, core }));
        }
    }
    cores
}

type Labelled = (Layer, Vec<u32>);

/// The object of each core in each layer.
fn labelled(machine: &Machine, table: &PuTable, cores: &[(u32, Place)]) -> Vec<Labelled> {
    let of_cores = |of_cpu: &ObjectOfCpu| -> Vec<Option<u32>> {
        let of_core = |core: u32| {
            let mut pus = table.cores.members(core).iter();
            of_cpu.get(pus.find_map(|pu| table.cpu(*pu))?)
        };
        cores.iter().map(|(core, _)| of_core(*core)).collect()
    };
    // The fastest kind comes first, and cores of no kind come last.
    let kinds = machine.kinds().iter().rev().map(|kind| &kind.cpus);
    let kinds = of_cores(&ObjectOfCpu::new(kinds)).into_iter();
    let kinds = kinds.map(|kind| kind.unwrap_or(u32::MAX)).collect();
    let objects = DIVIDED_BY.map(|kind| {
        let of_cpu = ObjectOfCpu::new(&machine.objects(kind));
        (Layer::Objects(kind), in_order(&of_cores(&of_cpu)))
    });
    let mut layers = vec![(Layer::CoreKinds, kinds)];
    layers.extend(objects);
    layers
}

/// A number for each label: the labels are numbered in the order in which they first appear.
fn in_order(labels: &[Option<u32>]) -> Vec<u32> {
    let mut known = HashMap::new();
    let mut number = |label: &Option<u32>| {
        let next = known.len() as u32;
        *known.entry(*label).or_insert(next)
    };
    labels.iter().map(&mut number).collect()
}

/// Moves each layer before those whose objects its own contain. Kinds of cores stay first.
fn wide_before_narrow(layers: &mut [Labelled]) {
    let first = layers
        .iter()
        .take_while(|(layer, _)| *layer == Layer::CoreKinds)
        .count();
    for _ in first..layers.len() {
        for at in first + 1..layers.len() {
            let (upper, lower) = (&layers[at - 1].1, &layers[at].1);
            if contains(lower, upper) && !contains(upper, lower) {
                layers.swap(at - 1, at);
            }
        }
    }
}

/// Whether each object of `narrow` is inside one object of `wide`.
fn contains(wide: &[u32], narrow: &[u32]) -> bool {
    let mut around = HashMap::new();
    let mut pairs = narrow.iter().zip(wide);
    pairs.all(|(narrow, wide)| around.entry(narrow).or_insert(wide) == &wide)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_around_numa_nodes_divides_before_them() {
        let mut layers = vec![
            (Layer::CoreKinds, vec![1, 1, 0, 0]),
            (Layer::Objects(ObjectKind::Numa), vec![0, 1, 2, 3]),
            (Layer::Objects(ObjectKind::L3), vec![0, 0, 1, 1]),
        ];
        wide_before_narrow(&mut layers);
        let order: Vec<_> = layers.iter().map(|(layer, _)| *layer).collect();
        let objects = [ObjectKind::L3, ObjectKind::Numa].map(Layer::Objects);
        assert_eq!(order, [Layer::CoreKinds, objects[0], objects[1]]);
    }
}
