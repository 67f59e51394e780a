//! The tree of hwloc's objects.

use berth_placement::{CpuId, CpuSet};
use roxmltree::Node;

/// The types of devices and of what leads to them.
const IO: [&str; 3] = ["Bridge", "PCIDev", "OSDev"];
/// The types of memory.
const MEMORY: [&str; 2] = ["NUMANode", "MemCache"];

/// An object.
#[derive(Clone, Debug, Default)]
pub(super) struct Object<'a> {
    /// Another one for each object of a tree.
    pub id: usize,
    pub kind: &'a str,
    /// The kernel's number; hardware threads and NUMA nodes have one.
    pub number: u32,
    pub cpus: CpuSet,
    /// Its first CPU, offline ones included.
    pub first: Option<CpuId>,
    /// The memory nodes next to it, by their numbers.
    pub nodes: CpuSet,
    /// Children that have CPUs of their own, in hwloc's order.
    pub below: Vec<Object<'a>>,
    pub memory: Vec<Object<'a>>,
    pub devices: Vec<Object<'a>>,
    /// The element of XML that it was read from.
    pub element: Option<Node<'a, 'a>>,
}

impl<'a> Object<'a> {
    /// Puts children where they belong. hwloc sorts siblings by their first CPU.
    pub(super) fn adopt(&mut self, children: Vec<Object<'a>>) {
        for child in children {
            match child.kind {
                kind if IO.contains(&kind) => self.devices.push(child),
                kind if MEMORY.contains(&kind) => self.memory.push(child),
                _ => self.below.push(child),
            }
        }
        self.below.sort_by_key(|child| child.first);
    }

    /// An attribute of its element.
    pub(super) fn attribute(&self, name: &str) -> Option<&'a str> {
        self.element?.attribute(name)
    }

    /// The objects of a type, in hwloc's order, each with those above it, the nearest last.
    pub(super) fn each<'t>(&'t self, kind: &str, mut found: impl FnMut(&'t Self, &[&'t Self])) {
        self.walk(&mut Vec::new(), &mut |object, above| {
            if object.kind == kind {
                found(object, above);
            }
        });
    }

    fn walk<'t>(
        &'t self,
        above: &mut Vec<&'t Self>,
        found: &mut impl FnMut(&'t Self, &[&'t Self]),
    ) {
        found(self, above);
        above.push(self);
        let below = [&self.memory, &self.below, &self.devices];
        for child in below.into_iter().flatten() {
            child.walk(above, found);
        }
        above.pop();
    }

    /// The CPUs of the objects of a type.
    pub(super) fn sets(&self, kind: &str) -> Vec<CpuSet> {
        let mut sets = Vec::new();
        self.each(kind, |object, _| sets.push(object.cpus.clone()));
        sets
    }
}
