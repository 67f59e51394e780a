//! The answer to a job (`job_limits_check`, `get_node_cnts`, `_pick_best_nodes`), and the question behind it: could the
//! job ever run, and what does it get (`_job_test`).
//! In: the cluster and the job's record. Out: the grant, or why there is none. Pure.

use crate::controller::select::answer::{Gap, JobAnswer, JobGrant, JobRefusal, Wait};
use crate::controller::select::cluster::{Cluster, CoreSet, SlurmLine, Unit};
use crate::controller::select::details::Details;
use crate::controller::select::linear;
use crate::controller::select::nodes::{
    Candidates, Chosen, NodeCounts, choose, has_memory, is_configured, unspecialised,
};
use crate::controller::select::offer::{Assumed, offer};
use crate::controller::select::options::{Client, LineOptions};
use crate::controller::select::take::{PickedNode, take};
use crate::request::distribution::AcrossHosts;

/// Slurm's own bound of a job's nodes.
const MOST_NODES: u32 = 500_000;

pub(super) fn answer(cluster: &Cluster, client: Client, options: &LineOptions) -> JobAnswer {
    if options.distribution.hosts == AcrossHosts::Arbitrary {
        return JobAnswer::NotModelled(Gap::Arbitrary);
    }
    let job = match Details::of(cluster, client, options) {
        Ok(job) => job,
        Err(why) => return JobAnswer::Refused(why),
    };
    if exceeds_partition(cluster, &job) {
        return match cluster.line {
            SlurmLine::V24_11 => JobAnswer::Refused(JobRefusal::PartitionConfig),
            _ => JobAnswer::Waits(Wait::PartitionConfig),
        };
    }
    let all = cluster.nodes.iter().enumerate();
    let fits: Vec<bool> = all
        .map(|(at, node)| is_configured(&job, node) && job.excluded.binary_search(&at).is_err())
        .collect();
    let never = JobAnswer::Refused(JobRefusal::NodeConfiguration);
    let too_many_named = job.max_nodes > 0 && job.named_nodes.len() > job.max_nodes as usize;
    if !fits.contains(&true) || too_many_named || job.named_nodes.iter().any(|at| !fits[*at]) {
        return never;
    }
    let node_counts = requested_node_counts(cluster, &job);
    if node_counts.most < node_counts.least {
        return JobAnswer::Waits(Wait::PartitionConfig);
    }
    let open: Vec<bool> = (0..fits.len())
        .map(|at| fits[at] && has_memory(cluster, &job, &cluster.nodes[at]))
        .collect();
    // sbatch's job is only tested when it comes; it starts later.
    let tested = client == Client::Sbatch && cluster.line > SlurmLine::V22_05;
    if tested && !could_run(cluster, &job, &fits, node_counts) {
        return never;
    }
    let named_open = job.named_nodes.iter().all(|at| open[*at]);
    if let Some(grant) = grant(cluster, &job, &open, node_counts).filter(|_| named_open) {
        let deals = job.spread && cluster.line == SlurmLine::V26_05 && grant.nodes.len() > 1;
        return match deals {
            true => JobAnswer::NotModelled(Gap::SpreadJob),
            false => JobAnswer::Granted(grant),
        };
    }
    match could_run(cluster, &job, &fits, node_counts) {
        true => JobAnswer::Waits(Wait::Resources),
        false => never,
    }
}

/// More than the partition has.
fn exceeds_partition(cluster: &Cluster, job: &Details) -> bool {
    let nodes = cluster.nodes.len() as u64;
    let cpus: u64 = cluster.nodes.iter().map(|node| u64::from(node.cpus)).sum();
    let partition = &cluster.partition;
    let most = partition
        .max_cpus_per_node
        .map(|most| u64::from(most) * nodes);
    let requested = u64::from(job.submitted_cpus);
    requested > cpus
        || most.is_some_and(|most| requested > most)
        || u64::from(job.min_nodes) > nodes
        || job.min_nodes < partition.min_nodes
        || partition.max_nodes.is_some_and(|most| job.max_nodes > most)
}

fn requested_node_counts(cluster: &Cluster, job: &Details) -> NodeCounts {
    let partition = &cluster.partition;
    let of_partition = partition.max_nodes.unwrap_or(MOST_NODES);
    let most = match job.max_nodes {
        0 => of_partition,
        most => most.min(of_partition),
    };
    let least = job.min_nodes.max(partition.min_nodes);
    NodeCounts {
        least,
        most,
        best: if job.max_nodes > 0 && !job.use_min_nodes {
            most
        } else {
            least
        },
    }
}

/// Whether the job could ever run on these nodes.
fn could_run(cluster: &Cluster, job: &Details, nodes: &[bool], node_counts: NodeCounts) -> bool {
    select(cluster, job, nodes, node_counts, Assumed::Ever).is_some()
}

/// The cores of these nodes that the job gets.
fn grant(
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
