//! The memory nodes of a cpuset, and what they mean to its tasks.
//! In: its CPUs, `MEM_LIST`, its attributes. Out: memory nodes, and notes. Pure.

use crate::answer::cpuset::SetMemory;
use crate::answer::cpuset_note::CpusetNote;
use crate::request::cpuset::{Attribute, Attributes, Dynamic};
use crate::sets::cpuset::CpuSet;
use crate::sets::nodeset::NodeSet;
use crate::topology::machine::Machine;
use crate::topology::node::Node;

/// Memory nodes with what they mean.
pub(super) struct Memory {
    pub(super) mems: NodeSet,
    pub(super) memory: SetMemory,
    pub(super) notes: Vec<CpusetNote>,
}

/// The memory nodes of a cpuset that has these CPUs.
#[must_use]
pub fn memory_nodes(node: &Node, cpus: &CpuSet, requested: &Dynamic) -> NodeSet {
    let none = NodeSet::default();
    let words = (requested.attributes, &none);
    of(node, cpus, requested.mem_list.as_ref(), words).mems
}

/// The memory of a cpuset. Nodes that are `wanted`, because other jobs' cpusets want their memory for
/// themselves, are no preference beside the cpuset's own.
pub(super) fn of(
    node: &Node,
    cpus: &CpuSet,
    list: Option<&NodeSet>,
    (attributes, wanted): (Attributes, &NodeSet),
) -> Memory {
    let is_mandatory = attributes.has(Attribute::MemoryMandatory);
    let is_local = attributes.has(Attribute::MemoryLocal);
    let mut notes = Vec::new();
    let mut mems = node.numa_nodes_of(cpus);
    match list {
        Some(_) if is_local => notes.push(CpusetNote::ListIgnored),
        Some(list) => {
            let there = listed(node, (list, &mems), (is_mandatory, wanted), &mut notes);
            mems = mems.iter().chain(there.iter()).collect();
        }
        None => {}
    }
    let swap = !attributes.has(Attribute::PolicyKill);
    let memory = match () {
        // Without the machine there is nothing to name.
        () if mems.is_empty() => SetMemory::Open,
        () if is_mandatory => SetMemory::Only { swap },
        () if is_local || list.is_some() => SetMemory::Preferred,
        () => SetMemory::Open,
    };
    if let SetMemory::Only { swap } = memory {
        let mems = mems.clone();
        notes.push(CpusetNote::Mandatory { mems, swap });
    }
    for (attribute, note) in [
        (Attribute::MemoryExclusive, CpusetNote::MemoryExclusive),
        (Attribute::MemoryKernelAvoid, CpusetNote::KernelAvoid),
    ] {
        if attributes.has(attribute) {
            notes.push(note);
        }
    }
    Memory {
        mems,
        memory,
        notes,
    }
}

/// The nodes of `MEM_LIST` beside the cpuset's own: those that are there, and without mandatory memory only
/// those that nobody else wants for itself.
fn listed(
    node: &Node,
    (list, own): (&NodeSet, &NodeSet),
    (is_mandatory, wanted): (bool, &NodeSet),
    notes: &mut Vec<CpusetNote>,
) -> NodeSet {
    let found = node.machine().map(Machine::numa_nodes).unwrap_or_default();
    let missing = list.difference(&found);
    let there = list.difference(&missing);
    if !missing.is_empty() {
        notes.push(CpusetNote::NoSuchMemory(missing));
    }
    let others = there.intersection(wanted).difference(own);
    if others.is_empty() {
        return there;
    }
    notes.push(CpusetNote::ListedMemory {
        mems: others.clone(),
        left_out: !is_mandatory,
    });
    match is_mandatory {
        true => there,
        false => there.difference(&others),
    }
}
