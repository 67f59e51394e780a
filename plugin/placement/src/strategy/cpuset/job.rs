//! A job's allocation on the node, from which its cpuset is chosen: its CPUs, and the memory nodes of the cpuset with what
//! they mean to its tasks. In: the request's allocation of the job; CPUs, `MEM_LIST` and attributes. Out: CPUs and how
//! they are counted; memory nodes, and notes. Pure.

use crate::answer::cpuset::{CpusetNote, SetMemory};
use crate::owned::{Owned, reserved_cpus};
use crate::request::Request;
use crate::request::cpuset::{Attribute, Attributes, Dynamic};
use crate::sets::cpuset::CpuSet;
use crate::sets::cpuset::NodeSet;
use crate::topology::machine::Machine;
use crate::topology::node::Node;

/// A job's CPUs on the node.
pub(super) struct Job<'a> {
    pub(super) node: &'a Node,
    pub(super) owned: Owned,
    /// The most hardware threads of a core that count: 1 where a CPU is a core.
    pub(super) limit: Option<u32>,
    /// Number of CPUs, as Slurm counts them here.
    pub(super) units: u32,
}

impl<'a> Job<'a> {
    pub(super) fn of(request: &Request, node: &'a Node, step: &Owned) -> Self {
        let owned = match &request.job_allocation {
            Some(allocation) => Owned::of_allocation(allocation, request, node),
            None => step.clone(),
        };
        let one = request.cpu_bind.one_thread || node.counts_cores();
        let limit = request.threads_per_core.or(one.then_some(1));
        let units = owned.count_within(node.table(), limit.unwrap_or(u32::MAX));
        Self {
            node,
            owned,
            limit,
            units,
        }
    }

    /// This job with each hardware thread counted as one CPU.
    pub(super) fn by_threads(self) -> Self {
        let units = self.owned.count_within(self.node.table(), u32::MAX);
        Self {
            limit: None,
            units,
            ..self
        }
    }

    /// Number of the job's CPUs among some.
    pub(super) fn units_in(&self, cpus: &CpuSet) -> u32 {
        let limit = self.limit.unwrap_or(u32::MAX);
        self.owned.count_among(cpus, self.node.table(), limit)
    }

    /// All CPUs of a NUMA node that any job may have, by its position among the distances; `None` if
    /// there is none.
    pub(super) fn whole_node(&self, at: usize, request: &Request) -> Option<CpuSet> {
        let (_, cpus) = self.node.distances().node(at)?;
        let table = self.node.table();
        let all = table.all().cloned();
        let mut all = all
            .unwrap_or_else(|| table.cpus(table.pus()))
            .intersection(cpus)
            .difference(&reserved_cpus(request, self.node));
        if let Some(allowed) = self.node.allowed().filter(|allowed| !allowed.is_empty()) {
            all = all.intersection(allowed);
        }
        (!all.is_empty()).then_some(all)
    }
}

/// Memory nodes with what they mean.
pub(super) struct Memory {
    pub(super) mems: NodeSet,
    pub(super) memory: SetMemory,
    pub(super) notes: Vec<CpusetNote>,
}

/// The memory nodes of a cpuset that has these CPUs, and what they mean.
#[must_use]
pub fn memory_of_cpuset(node: &Node, cpus: &CpuSet, requested: &Dynamic) -> (NodeSet, SetMemory) {
    let none = NodeSet::default();
    let words = (requested.attributes, &none);
    let found = memory_of(node, cpus, requested.mem_list.as_ref(), words);
    (found.mems, found.memory)
}

/// The memory of a cpuset. Nodes that are `wanted`, because other jobs' cpusets want their memory for
/// themselves, are no preference beside the cpuset's own.
pub(super) fn memory_of(
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
