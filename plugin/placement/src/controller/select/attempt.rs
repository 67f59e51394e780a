//! One question to the selection: could the job ever run, and what does it get (`_job_test`).
//! In: the cluster, the job's record, and the nodes that come into question. Out: the grant. Pure.

use crate::controller::select::answer::JobGrant;
use crate::controller::select::candidates::{Candidates, NodeCounts};
use crate::controller::select::cluster::{Cluster, SlurmLine, Unit};
use crate::controller::select::core_set::CoreSet;
use crate::controller::select::details::Details;
use crate::controller::select::eligible::unspecialised;
use crate::controller::select::linear;
use crate::controller::select::nodes::{Chosen, choose};
use crate::controller::select::offer::{Assumed, offer};
use crate::controller::select::take::{PickedNode, take};

/// Whether the job could ever run on these nodes.
pub(super) fn could_run(
    cluster: &Cluster,
    job: &Details,
    nodes: &[bool],
    node_counts: NodeCounts,
) -> bool {
    select(cluster, job, nodes, node_counts, Assumed::Ever).is_some()
}

/// The cores of these nodes that the job gets.
pub(super) fn grant(
    cluster: &Cluster,
    job: &Details,
    nodes: &[bool],
    node_counts: NodeCounts,
) -> Option<JobGrant> {
    let tries_first = cluster.line == SlurmLine::V22_05;
    if tries_first && !could_run(cluster, job, nodes, node_counts) {
        return None;
    }
    let choice = |nodes: &[bool]| select(cluster, job, nodes, node_counts, Assumed::Now);
    if cluster.select.unit == Unit::Node {
        let tries = linear::tries(cluster, job, nodes);
        let (chosen, _) = tries.iter().find_map(|nodes| choice(nodes))?;
        return Some(linear::granted(cluster, job, &chosen));
    }
    let (chosen, mut free) = choice(nodes)?;
    let taken = chosen.nodes.iter().map(|&(at, cpus)| PickedNode {
        at,
        free: std::mem::take(&mut free[at]),
        all: unspecialised(cluster, job, &cluster.nodes[at]),
        cpus,
    });
    take(cluster, job, taken.collect(), chosen.is_assumed)
}

/// The nodes, and the cores of all nodes that the job may use.
fn select(
    cluster: &Cluster,
    job: &Details,
    nodes: &[bool],
    node_counts: NodeCounts,
    assumed: Assumed,
) -> Option<(Chosen, Vec<CoreSet>)> {
    let mut free = vec![CoreSet::new(); nodes.len()];
    let mut offers = vec![0; nodes.len()];
    let all = cluster.nodes.iter().enumerate();
    for (at, node) in all.filter(|(at, _)| nodes[*at]) {
        if cluster.select.unit == Unit::Node {
            offers[at] = linear::offer(job, node);
            continue;
        }
        let mut cores = unspecialised(cluster, job, node);
        offers[at] = offer(cluster, job, node, assumed, &mut cores).unwrap_or(0);
        free[at] = cores;
    }
    let candidates = Candidates {
        cluster,
        job,
        offers,
    };
    let by_tasks = job.per_node.filter(|_| job.tasks > 0);
    let by_tasks = by_tasks.filter(|_| cluster.select.unit != Unit::Node);
    let least = by_tasks.map_or(0, |each| job.tasks.div_ceil(each.max(1)));
    let node_counts = NodeCounts {
        least: node_counts.least.max(least),
        ..node_counts
    };
    Some((choose(&candidates, node_counts)?, free))
}
