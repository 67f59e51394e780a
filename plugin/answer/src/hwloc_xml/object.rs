//! The tree of hwloc's objects, with those left out that a filter drops: their children take their place.

use berth_placement::sets::cpuset::MAX_CPUS;
use berth_placement::{CpuId, CpuSet};
use roxmltree::Node;

use super::XmlError;

/// Objects in each other: a machine has about twenty.
const MOST_DEPTH: usize = 64;
/// hwloc's digits of a set between two commas.
const GROUP: usize = 8;
/// The types of devices and of what leads to them.
const IO: [&str; 3] = ["Bridge", "PCIDev", "OSDev"];
/// The types of memory.
const MEMORY: [&str; 2] = ["NUMANode", "MemCache"];

/// Which objects are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Import {
    /// Those that slurmd keeps: they decide the order of cores where a cache spans cores whose numbers are not neighbours.
    Slurmds,
    /// All but instruction caches and what only explains others.
    Whole,
}

impl Import {
    fn keeps(self, kind: &str) -> bool {
        let is_dropped = match self {
            Self::Slurmds => {
                ["L1Cache", "L2Cache", "L4Cache", "L5Cache"].contains(&kind) || IO.contains(&kind)
            }
            Self::Whole => false,
        };
        !is_dropped && kind != "Misc" && !kind.ends_with("iCache")
    }
}

/// An object.
#[derive(Clone, Debug)]
pub(super) struct Object<'a> {
    pub node: Node<'a, 'a>,
    pub kind: &'a str,
    pub cpus: CpuSet,
    /// Children that have CPUs of their own, in hwloc's order.
    pub below: Vec<Object<'a>>,
    pub memory: Vec<Object<'a>>,
    pub devices: Vec<Object<'a>>,
}

/// All objects of a file.
#[derive(Clone, Debug)]
pub(super) struct Tree<'a> {
    pub machine: Object<'a>,
}

impl<'a> Tree<'a> {
    /// In: the element `topology`.
    pub(super) fn of(topology: Node<'a, 'a>, import: Import) -> Result<Self, XmlError> {
        let mut machines = topology.children().filter(|node| is_object(*node));
        let node = machines.next().ok_or(XmlError::NoTopology)?;
        let mut all = read(node, import, 0)?;
        match all.pop() {
            Some(machine) if all.is_empty() && machine.kind == "Machine" => Ok(Self { machine }),
            _ => Err(XmlError::NoTopology),
        }
    }

    /// The objects of a type, in hwloc's order, each with those above it, the nearest last.
    pub(super) fn each(&self, kind: &str, mut found: impl FnMut(&Object<'a>, &[&Object<'a>])) {
        walk(&self.machine, &mut Vec::new(), &mut |object, above| {
            if object.kind == kind {
                found(object, above);
            }
        });
    }

    /// The CPUs of the objects of a type.
    pub(super) fn sets(&self, kind: &str) -> Vec<CpuSet> {
        let mut sets = Vec::new();
        self.each(kind, |object, _| sets.push(object.cpus.clone()));
        sets
    }
}

fn walk<'t, 'a>(
    object: &'t Object<'a>,
    above: &mut Vec<&'t Object<'a>>,
    found: &mut impl FnMut(&'t Object<'a>, &[&'t Object<'a>]),
) {
    found(object, above);
    above.push(object);
    let below = [&object.memory, &object.below, &object.devices];
    for child in below.into_iter().flatten() {
        walk(child, above, found);
    }
    above.pop();
}

fn is_object(node: Node<'_, '_>) -> bool {
    node.tag_name().name() == "object"
}

/// The object of an element, or those below it if it is dropped.
fn read<'a>(node: Node<'a, 'a>, import: Import, depth: usize) -> Result<Vec<Object<'a>>, XmlError> {
    if depth > MOST_DEPTH {
        return Err(XmlError::TooDeep);
    }
    let mut all = Vec::new();
    for child in node.children().filter(|child| is_object(*child)) {
        all.extend(read(child, import, depth + 1)?);
    }
    let kind = node.attribute("type").unwrap_or_default();
    if !import.keeps(kind) {
        return Ok(all);
    }
    let (devices, all): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|child| IO.contains(&child.kind));
    let (memory, mut below): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|child| MEMORY.contains(&child.kind));
    // hwloc sorts siblings by their first CPU, offline ones too.
    let mut first = Vec::with_capacity(below.len());
    for child in &below {
        let complete = set(child.node, "complete_cpuset")?;
        let cpus = complete.as_ref().unwrap_or(&child.cpus);
        first.push((cpus.lowest(), first.len()));
    }
    first.sort_unstable();
    let mut unsorted: Vec<_> = below.drain(..).map(Some).collect();
    let sorted = first
        .into_iter()
        .filter_map(|(_, at)| unsorted.get_mut(at)?.take());
    Ok(vec![Object {
        node,
        kind,
        cpus: set(node, "cpuset")?.unwrap_or_default(),
        below: sorted.collect(),
        memory,
        devices,
    }])
}

/// The kernel's number of an object.
pub(super) fn os_number(node: Node<'_, '_>) -> Result<u32, XmlError> {
    let text = node.attribute("os_index").unwrap_or_default();
    let number = text.parse().ok().filter(|number| *number < MAX_CPUS);
    number.ok_or_else(|| wrong(node, "os_index", text))
}

/// A set in hwloc's form: `0x000000ff,0xffffffff`; a group of zeros may be empty.
pub(super) fn set(node: Node<'_, '_>, name: &'static str) -> Result<Option<CpuSet>, XmlError> {
    let Some(text) = node.attribute(name) else {
        return Ok(None);
    };
    let mut digits = String::with_capacity(text.len());
    for group in text.split(',') {
        let group = group.strip_prefix("0x").unwrap_or(group);
        if group.len() > GROUP {
            return Err(wrong(node, name, text));
        }
        digits.extend(std::iter::repeat_n('0', GROUP - group.len()));
        digits.push_str(group);
    }
    let found = CpuSet::from_hex(&digits).map_err(|_| wrong(node, name, text))?;
    Ok(Some(found))
}

pub(super) fn wrong(node: Node<'_, '_>, name: &'static str, value: &str) -> XmlError {
    XmlError::Value {
        kind: node
            .attribute("type")
            .unwrap_or("(none)")
            .chars()
            .take(40)
            .collect(),
        name,
        value: value.chars().take(80).collect(),
    }
}

/// Whether a set of memory nodes, in the form of one of CPUs, has a node of this number.
pub(super) fn has_node(set: &CpuSet, number: u32) -> bool {
    set.contains(CpuId(number))
}
