//! The tree of hwloc's objects, how XML has it, and the tree that is left where a filter drops some of them: their
//! children take their place.

use berth_placement::sets::cpuset::MAX_CPUS;
use berth_placement::{CpuId, CpuSet};
use roxmltree::{Document, Node, ParsingOptions};

use super::NoMachine;

/// The longest text that is read, in bytes; the largest machines need a few million.
pub(super) const MOST_BYTES: usize = 64 << 20;
/// Objects, attributes and texts of a file.
const MOST_NODES: u32 = 1 << 22;
/// Objects in each other: a machine has about twenty.
const MOST_DEPTH: usize = 64;
/// hwloc's digits of a set between two commas.
const GROUP: usize = 8;

/// The types of devices and of what leads to them.
const DEVICES: [&str; 3] = ["Bridge", "PCIDev", "OSDev"];
/// The types that slurmd's filters leave out. Those that they keep decide the order of cores where a cache spans cores
/// whose numbers are not neighbours.
const DROPPED: [&str; 4] = ["L1Cache", "L2Cache", "L4Cache", "L5Cache"];

/// Whether a type is left out in any case: instruction caches, and what only explains others.
fn is_unused(kind: &str) -> bool {
    kind == "Misc" || kind.ends_with("iCache")
}

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
                kind if DEVICES.contains(&kind) => self.devices.push(child),
                kind if MEMORY.contains(&kind) => self.memory.push(child),
                _ => self.below.push(child),
            }
        }
        self.below.sort_by_key(|child| child.first);
    }

    /// This tree through slurmd's filters.
    pub(super) fn slurmds(&self) -> Self {
        let mut object = Self {
            id: self.id,
            kind: self.kind,
            number: self.number,
            cpus: self.cpus.clone(),
            first: self.first,
            nodes: self.nodes.clone(),
            ..Self::default()
        };
        object.adopt(self.kept_children());
        object
    }

    /// The children that slurmd's filters keep, those of dropped ones in their place.
    fn kept_children(&self) -> Vec<Self> {
        let mut kept = Vec::new();
        for child in self.memory.iter().chain(&self.below) {
            match DROPPED.contains(&child.kind) {
                true => kept.extend(child.kept_children()),
                false => kept.push(child.slurmds()),
            }
        }
        kept
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

/// The text's document.
///
/// # Errors
/// [`NoMachine`]: it is too long, or no XML.
pub(super) fn document(text: &str) -> Result<Document<'_>, NoMachine> {
    if text.len() > MOST_BYTES {
        return Err(NoMachine::TooLong(text.len()));
    }
    let options = ParsingOptions {
        // hwloc names its own one, and nobody reads it.
        allow_dtd: true,
        nodes_limit: MOST_NODES,
        ..ParsingOptions::default()
    };
    Ok(Document::parse_with_options(text, options)?)
}

/// The element that has a machine of hwloc 2 or later.
///
/// # Errors
/// [`NoMachine`]
pub(super) fn topology<'a>(document: &'a Document<'a>) -> Result<Node<'a, 'a>, NoMachine> {
    let topology = document.root_element();
    match topology.tag_name().name() == "topology" {
        false => Err(NoMachine::NoTopology),
        true if !topology.has_attribute("version") => Err(NoMachine::OldVersion),
        true => Ok(topology),
    }
}

/// The machine with its objects.
///
/// # Errors
/// [`NoMachine`]
pub(super) fn machine<'a>(topology: Node<'a, 'a>) -> Result<Object<'a>, NoMachine> {
    let node = children(topology, "object").next();
    let node = node.ok_or(NoMachine::NoTopology)?;
    let mut all = Reader { next: 0 }.read(node, 0)?;
    match all.pop() {
        Some(machine) if all.is_empty() && machine.kind == "Machine" => Ok(machine),
        _ => Err(NoMachine::NoTopology),
    }
}

/// The elements of a name in another one.
pub(super) fn children<'a, 'n>(
    node: Node<'a, 'a>,
    name: &'n str,
) -> impl Iterator<Item = Node<'a, 'a>> + use<'a, 'n> {
    node.children()
        .filter(move |node| node.tag_name().name() == name)
}

struct Reader {
    /// The number of objects so far.
    next: usize,
}

impl Reader {
    /// The object of an element, or those below it if nobody uses it.
    fn read<'a>(&mut self, node: Node<'a, 'a>, depth: usize) -> Result<Vec<Object<'a>>, NoMachine> {
        if depth > MOST_DEPTH {
            return Err(NoMachine::TooDeep);
        }
        let mut all = Vec::new();
        for child in children(node, "object") {
            all.extend(self.read(child, depth + 1)?);
        }
        let kind = node.attribute("type").unwrap_or_default();
        if is_unused(kind) {
            return Ok(all);
        }
        self.next += 1;
        let cpus = set(node, "cpuset")?.unwrap_or_default();
        let complete = set(node, "complete_cpuset")?;
        let mut object = Object {
            id: self.next,
            kind,
            number: match kind {
                "PU" | "NUMANode" => os_number(node)?,
                _ => 0,
            },
            first: complete.as_ref().unwrap_or(&cpus).lowest(),
            nodes: set(node, "nodeset")?.unwrap_or_default(),
            cpus,
            element: Some(node),
            ..Object::default()
        };
        object.adopt(all);
        Ok(vec![object])
    }
}

/// The kernel's number of an object.
fn os_number(node: Node<'_, '_>) -> Result<u32, NoMachine> {
    let text = node.attribute("os_index").unwrap_or_default();
    let number = text.parse().ok().filter(|number| *number < MAX_CPUS);
    number.ok_or_else(|| wrong(kind(node), "os_index", text))
}

/// A set in hwloc's form: `0x000000ff,0xffffffff`; a group of zeros may be empty.
pub(super) fn set(node: Node<'_, '_>, name: &'static str) -> Result<Option<CpuSet>, NoMachine> {
    let Some(text) = node.attribute(name) else {
        return Ok(None);
    };
    let mut digits = String::with_capacity(text.len());
    for group in text.split(',') {
        let group = group.strip_prefix("0x").unwrap_or(group);
        if group.len() > GROUP {
            return Err(wrong(kind(node), name, text));
        }
        digits.extend(std::iter::repeat_n('0', GROUP - group.len()));
        digits.push_str(group);
    }
    let found = CpuSet::from_hex(&digits).map_err(|_| wrong(kind(node), name, text))?;
    Ok(Some(found))
}

fn kind<'a>(node: Node<'a, '_>) -> &'a str {
    node.attribute("type").unwrap_or("(none)")
}

pub(super) fn wrong(kind: &str, name: &'static str, value: &str) -> NoMachine {
    NoMachine::Value {
        kind: kind.chars().take(40).collect(),
        name,
        value: value.chars().take(80).collect(),
    }
}
