//! The memory nodes of a cpuset, and what they mean to its tasks.
//! In: its CPUs, `MEM_LIST`, its attributes. Out: memory nodes, and notes. Pure.

use crate::answer::cpuset::SetMemory;
use crate::answer::cpuset_note::CpusetNote;
use crate::request::cpuset::{Attribute, Attributes};
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

/// The memory of a cpuset.
pub(super) fn of(
    node: &Node,
    cpus: &CpuSet,
    list: Option<&NodeSet>,
    attributes: Attributes,
) -> Memory {
    let is_mandatory = attributes.has(Attribute::MemoryMandatory);
    let is_local = attributes.has(Attribute::MemoryLocal);
    let mut notes = Vec::new();
    let mut mems = node.numa_nodes_of(cpus);
    match list {
        Some(_) if is_local => notes.push(CpusetNote::ListIgnored),
        Some(list) => {
            let found = node.machine().map(Machine::numa_nodes).unwrap_or_default();
            let missing = list.difference(&found);
            let there = list.difference(&missing);
            mems = mems.iter().chain(there.iter()).collect();
            if !missing.is_empty() {
                notes.push(CpusetNote::NoSuchMemory(missing));
            }
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
