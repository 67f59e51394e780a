//! The kernel's numbers of a job's cores on this node: of its cgroup where that confines it, else by
//! slurmd's machine, as slurmd itself would plan on all of them.

use berth_placement::{Allocation, CoreIdx, CpuSet, Node, Owned, Request};

use berth_answer::world::BerthNode;

/// The node as slurmd counts it, if it has announced that.
pub(super) fn node(here: &BerthNode) -> Option<Node> {
    let rules = here.rules.as_ref()?;
    Some(Node::new(
        rules.shape()?,
        here.machine.clone(),
        rules.socket(),
        rules.rules(),
    ))
}

/// The CPUs of these cores.
pub(super) fn of(cores: &CpuSet, node: &Node) -> CpuSet {
    let request = Request {
        allocation: Allocation::Cores {
            cores: cores.iter().map(|core| CoreIdx(core.0)).collect(),
            configured: node.table().cores.len() as u32,
        },
        ..Request::default()
    };
    Owned::of(&request, node).cpus
}

/// The cores of slurmctld's CPUs.
pub(super) fn cores(cpus: &CpuSet, threads: u32) -> CpuSet {
    let core = |cpu: berth_placement::CpuId| berth_placement::CpuId(cpu.0 / threads.max(1));
    cpus.iter().map(core).collect()
}
