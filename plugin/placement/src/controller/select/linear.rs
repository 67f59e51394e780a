//! `select/linear`: whole nodes, whatever is asked for (`_get_avail_cpus` and `_job_count_bitmap` of
//! select_linear.c).
//! In: the cluster, the job's record, and its nodes. Out: CPUs of a node, and the grant. Pure.

use std::collections::BTreeSet;

use crate::controller::select::answer::{GrantedNode, JobGrant};
use crate::controller::select::cluster::{Cluster, ClusterNode, CoreSet, Memory};
use crate::controller::select::details::Details;
use crate::controller::select::nodes::Chosen;
use crate::controller::select::take::record;

/// CPUs of a node that count for the job.
pub(super) fn offer(job: &Details, node: &ClusterNode) -> u32 {
    let by_core = job.per_core.map(|most| {
        let cores = node.cores();
        cores.saturating_mul(most).saturating_mul(job.each)
    });
    let cpus = by_core.map_or(node.cpus, |most| most.max(node.cpus));
    let by_node = job.per_node.map(|tasks| tasks.saturating_mul(job.each));
    by_node.map_or(cpus, |most| most.min(cpus))
}

/// The nodes that slurmctld tries, in turn: the lightest first, then heavier ones beside them. A job without a wish for
/// memory takes all of a node's, and slurmctld then wants as much of each node as the first one has.
pub(super) fn tries(cluster: &Cluster, job: &Details, nodes: &[bool]) -> Vec<Vec<bool>> {
    if !cluster.select.memory || job.memory != Memory::PerNode(0) {
        return vec![nodes.to_vec()];
    }
    let weights: BTreeSet<u32> = cluster.nodes.iter().map(|node| node.weight).collect();
    let of_weight = |most: u32| {
        let tried = |at: &usize| nodes[*at] && cluster.nodes[*at].weight <= most;
        let memory = |at: usize| cluster.nodes[at].memory;
        let least = (0..nodes.len()).find(tried).map_or(0, memory);
        let is_open = |at: usize| tried(&at) && memory(at) >= least;
        (0..nodes.len()).map(is_open).collect()
    };
    weights.into_iter().map(of_weight).collect()
}

/// The whole nodes.
pub(super) fn granted(cluster: &Cluster, job: &Details, chosen: &Chosen) -> JobGrant {
    let nodes: Vec<_> = chosen
        .nodes
        .iter()
        .map(|&(at, _)| GrantedNode {
            node: at,
            cores: CoreSet::first(cluster.nodes[at].cores()),
            cpus: cluster.nodes[at].cpus,
        })
        .collect();
    JobGrant {
        tasks: job.tasks,
        record: record(cluster.line, job, nodes.len() as u32),
        nodes,
        nodes_assumed: chosen.is_assumed,
    }
}
