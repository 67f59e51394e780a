//! One question to the selection: could the job ever run, and what would it get now (`_job_test`).
//! In: the cluster, the job's record, and the nodes that come into question. Out: the grant. Pure.

use crate::controller::select::answer::JobGrant;
use crate::controller::select::candidates::{Candidates, Wanted};
use crate::controller::select::choose::choose;
use crate::controller::select::cluster::{Cluster, OverSubscribe, SlurmLine};
use crate::controller::select::core_set::CoreSet;
use crate::controller::select::details::Details;
use crate::controller::select::eligible::unspecialised;
use crate::controller::select::offer::{Assumed, offer};
use crate::controller::select::one_node;
use crate::controller::select::take::{Taken, take};

/// Whether the job could run on these nodes if nothing else ran.
pub(super) fn could_run(
    cluster: &Cluster,
    job: &Details,
    nodes: &[bool],
    wanted: Wanted,
    assumed: Assumed,
) -> bool {
    select(cluster, job, nodes, wanted, assumed).is_some()
}

/// What the job gets of these nodes now: first as if nothing ran, then with busy cores taken out.
pub(super) fn grant(
    cluster: &Cluster,
    job: &Details,
    nodes: &[bool],
    wanted: Wanted,
) -> Option<JobGrant> {
    let tries_idle = match cluster.partition.over_subscribe {
        _ if cluster.line == SlurmLine::V22_05 => true,
        OverSubscribe::No | OverSubscribe::Exclusive => false,
        OverSubscribe::Yes(jobs) | OverSubscribe::Force(jobs) => jobs > 1,
    };
    if tries_idle && !could_run(cluster, job, nodes, wanted, Assumed::Idle) {
        return None;
    }
    let taken = select(cluster, job, nodes, wanted, Assumed::Now)?;
    take(cluster, job, taken)
}

fn select(
    cluster: &Cluster,
    job: &Details,
    nodes: &[bool],
    wanted: Wanted,
    assumed: Assumed,
) -> Option<Vec<Taken>> {
    let mut free = vec![CoreSet::new(); nodes.len()];
    let mut offers = vec![None; nodes.len()];
    for (at, node) in cluster
        .nodes
        .iter()
        .enumerate()
        .filter(|(at, _)| nodes[*at])
    {
        let mut cores = unspecialised(cluster, job, node);
        if assumed == Assumed::Now {
            if job.whole && cores.intersects(&node.busy) {
                continue;
            }
            cores.remove_all(&node.busy);
        }
        offers[at] = offer(cluster, job, node, assumed, &mut cores);
        free[at] = cores;
    }
    let mut candidates = Candidates {
        cluster,
        job,
        open: offers.iter().map(Option::is_some).collect(),
        offers,
    };
    let least_loaded = cluster.select.least_loaded || cluster.partition.least_loaded;
    if cluster.line == SlurmLine::V26_05 && wanted.most == 1 && !least_loaded {
        let at = one_node::choose(&mut candidates)?;
        return Some(vec![taken(&candidates, &mut free, at)]);
    }
    if candidates.open_count() < wanted.least || !candidates.has_wanted() {
        return None;
    }
    let by_tasks = job.per_node.filter(|_| job.tasks > 0);
    let least = by_tasks.map_or(0, |each| job.tasks.div_ceil(each.max(1)));
    let wanted = Wanted {
        least: wanted.least.max(least),
        ..wanted
    };
    let chosen = choose(&mut candidates, wanted)?;
    let all = (0..chosen.len()).filter(|at| chosen[*at]);
    let all = all.map(|at| taken(&candidates, &mut free, at));
    Some(all.collect())
}

fn taken(candidates: &Candidates<'_>, free: &mut [CoreSet], at: usize) -> Taken {
    let cluster = candidates.cluster;
    Taken {
        at,
        free: std::mem::take(&mut free[at]),
        all: unspecialised(cluster, candidates.job, &cluster.nodes[at]),
        cpus: candidates.offers[at].map_or(0, |offer| offer.cpus),
    }
}
