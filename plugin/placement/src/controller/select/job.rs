//! The answer to a job (`job_limits_check`, `get_node_cnts`, `_pick_best_nodes`).
//! In: the cluster and the job's record. Out: the grant, or why there is none. Pure.

use crate::controller::select::answer::{Gap, JobAnswer, JobGrant, JobRefusal, Wait};
use crate::controller::select::candidates::Wanted;
use crate::controller::select::cluster::{Cluster, OverSubscribe, SlurmLine, Unit};
use crate::controller::select::details::Details;
use crate::controller::select::eligible::{is_configured, is_open};
use crate::controller::select::offer::Assumed;
use crate::controller::select::options::{Client, LineOptions, Sharing};
use crate::controller::select::{attempt, linear};
use crate::request::distribution::AcrossHosts;

/// Slurm's own bound of a job's nodes.
const MOST_NODES: u32 = 500_000;

pub(super) fn answer(cluster: &Cluster, client: Client, options: &LineOptions) -> JobAnswer {
    if let Some(gap) = gap(cluster, options) {
        return JobAnswer::NotModelled(gap);
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
    let too_many_named = job.max_nodes > 0 && job.wanted.len() > job.max_nodes as usize;
    if !fits.contains(&true) || too_many_named || job.wanted.iter().any(|at| !fits[*at]) {
        return never;
    }
    let wanted = wanted(cluster, &job);
    if wanted.most < wanted.least {
        return JobAnswer::Waits(Wait::PartitionConfig);
    }
    let open: Vec<bool> = (0..fits.len())
        .map(|at| fits[at] && is_open(cluster, &job, &cluster.nodes[at]))
        .collect();
    // sbatch's job is only tested when it comes; it starts later.
    let tested = client == Client::Sbatch && cluster.line > SlurmLine::V22_05;
    if tested && !could_run(cluster, &job, &fits, wanted) {
        return never;
    }
    let wanted_open = job.wanted.iter().all(|at| open[*at]);
    if let Some(grant) = grant(cluster, &job, &open, wanted).filter(|_| wanted_open) {
        return JobAnswer::Granted(grant);
    }
    match could_run(cluster, &job, &fits, wanted) {
        true if shares(cluster, options) => JobAnswer::NotModelled(Gap::SharedCores),
        true => JobAnswer::Waits(Wait::Resources),
        false => never,
    }
}

fn grant(cluster: &Cluster, job: &Details, open: &[bool], wanted: Wanted) -> Option<JobGrant> {
    match cluster.select.unit {
        Unit::Node => linear::grant(cluster, job, open, wanted),
        _ => attempt::grant(cluster, job, open, wanted),
    }
}

fn could_run(cluster: &Cluster, job: &Details, fits: &[bool], wanted: Wanted) -> bool {
    match cluster.select.unit {
        Unit::Node => linear::could_run(cluster, job, fits, wanted),
        _ => attempt::could_run(cluster, job, fits, wanted, Assumed::Ever),
    }
}

/// Whether the job may share cores with others. As long as free cores suffice it does not.
fn shares(cluster: &Cluster, options: &LineOptions) -> bool {
    match cluster.partition.over_subscribe {
        OverSubscribe::No | OverSubscribe::Exclusive => false,
        OverSubscribe::Yes(jobs) => jobs > 1 && options.sharing == Sharing::Oversubscribe,
        OverSubscribe::Force(jobs) => jobs > 1,
    }
}

/// What the model leaves out.
fn gap(cluster: &Cluster, options: &LineOptions) -> Option<Gap> {
    let busy = || cluster.nodes.iter().any(|node| !node.busy.is_empty());
    // Nodes are shared by jobs with -s alone, and nobody says which jobs these are.
    let among_others = matches!(cluster.partition.over_subscribe, OverSubscribe::Yes(_));
    let linear = cluster.select.unit == Unit::Node;
    match options.sharing {
        _ if shares(cluster, options) && (among_others || linear) && busy() => {
            Some(Gap::SharedCores)
        }
        // Nobody says whose jobs run there.
        Sharing::ExclusiveUser | Sharing::ExclusiveMcs if busy() => Some(Gap::ExclusiveForUser),
        _ if options.distribution.hosts == AcrossHosts::Arbitrary => Some(Gap::Arbitrary),
        _ => None,
    }
}

/// More than the partition has, whatever runs.
fn exceeds_partition(cluster: &Cluster, job: &Details) -> bool {
    let nodes = cluster.nodes.len() as u64;
    let cpus: u64 = cluster.nodes.iter().map(|node| u64::from(node.cpus)).sum();
    let partition = &cluster.partition;
    let most = partition
        .max_cpus_per_node
        .map(|most| u64::from(most) * nodes);
    let asked = u64::from(job.submitted_cpus);
    asked > cpus
        || most.is_some_and(|most| asked > most)
        || u64::from(job.min_nodes) > nodes
        || job.min_nodes < partition.min_nodes
        || partition.max_nodes.is_some_and(|most| job.max_nodes > most)
}

fn wanted(cluster: &Cluster, job: &Details) -> Wanted {
    let partition = &cluster.partition;
    let of_partition = partition.max_nodes.unwrap_or(MOST_NODES);
    let most = match job.max_nodes {
        0 => of_partition,
        most => most.min(of_partition),
    };
    let least = job.min_nodes.max(partition.min_nodes);
    Wanted {
        least,
        most,
        best: if job.max_nodes > 0 && !job.use_min_nodes {
            most
        } else {
            least
        },
    }
}
