//! Which nodes a job can use at all, and the cores of them that are not specialised (rules of
//! `_build_node_list` and `common_mark_avail_cores`).
//! In: the job's record and a node. Out: yes or no, and a set of cores. Pure.

use crate::controller::select::cluster::{Cluster, ClusterNode, Memory, Specialised, Unit};
use crate::controller::select::core_set::CoreSet;
use crate::controller::select::details::Details;
use crate::request::CoreSpec;

/// Whether the node's configuration suffices, whatever runs there.
pub(super) fn is_configured(job: &Details, node: &ClusterNode) -> bool {
    let by_tasks = job.per_core.map(|most| {
        let cores = node.cores();
        cores.saturating_mul(most).saturating_mul(job.each)
    });
    let cpus = by_tasks.map_or(node.cpus, |most| most.max(node.cpus));
    let (Memory::PerNode(memory) | Memory::PerCpu(memory)) = job.memory;
    let is_at_least =
        |found: u32, requested: Option<u32>| requested.is_none_or(|requested| requested <= found);
    job.node_cpus <= cpus
        && memory <= node.memory
        && is_at_least(node.sockets, job.sockets)
        && is_at_least(node.cores_per_socket, job.cores)
        && is_at_least(node.threads_per_core, job.threads)
}

/// Whether the node has memory for the job.
pub(super) fn has_memory(cluster: &Cluster, job: &Details, node: &ClusterNode) -> bool {
    let Memory::PerCpu(each) = job.memory else {
        return true;
    };
    let cpus = match cluster.select.unit {
        Unit::Node => node.cpus,
        _ => job.per_node.unwrap_or(0).max(job.node_cpus).max(job.each),
    };
    !cluster.select.memory || each.saturating_mul(cpus.into()) <= node.memory
}

/// The node's cores that the job may have; none for a node that has too few.
pub(super) fn unspecialised(cluster: &Cluster, job: &Details, node: &ClusterNode) -> CoreSet {
    let select = &cluster.select;
    let mut cores = CoreSet::first(node.cores());
    let requested = match job.core_spec {
        CoreSpec::None => None,
        CoreSpec::Cores(count) if count >= node.cores() => return CoreSet::new(),
        CoreSpec::Cores(count) => Some(count),
        CoreSpec::Threads(count) => (node.cpus == node.cores()).then_some(count),
    };
    if requested == Some(0) {
        return cores;
    }
    let special = specialised(node, select.spec_cores_first);
    let Some(requested) = requested else {
        cores.remove_all(&special);
        return cores;
    };
    let mut left = requested;
    for core in special.iter().take(requested as usize) {
        cores.remove(core);
        left -= 1;
    }
    let more = in_order(node, select.spec_cores_first).filter(|core| !special.contains(*core));
    more.take(left as usize).for_each(|core| cores.remove(core));
    cores
}

/// The node's specialised cores.
fn specialised(node: &ClusterNode, lowest_first: bool) -> CoreSet {
    match &node.specialised {
        Specialised::None => CoreSet::new(),
        Specialised::Cores(cores) => cores.clone(),
        Specialised::Count(count) => in_order(node, lowest_first).take(*count as usize).collect(),
    }
}

/// The order in which Slurm specialises cores: the highest core of the last socket, the same of the
/// socket before, and so on, then the next lower core. Source: `_select_spec_cores` of slurmd.
fn in_order(node: &ClusterNode, lowest_first: bool) -> impl Iterator<Item = u32> {
    let (sockets, each) = (node.sockets, node.cores_per_socket);
    (0..node.cores()).map(move |at| {
        let (core, socket) = (at / sockets, at % sockets);
        match lowest_first {
            true => socket * each + core,
            false => (sockets - 1 - socket) * each + (each - 1 - core),
        }
    })
}
