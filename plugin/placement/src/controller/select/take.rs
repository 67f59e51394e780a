//! The cores that a job takes of its nodes (`dist_tasks`, and the end of `_job_test`).
//! In: the taken nodes with their free cores. Out: the grant. Pure.

use crate::controller::select::answer::{GrantedNode, JobGrant, JobRecord};
use crate::controller::select::cluster::{Cluster, ClusterNode, CoreSet, Memory, SlurmLine, Unit};
use crate::controller::select::counts;
use crate::controller::select::details::Details;
use crate::controller::select::node_cores::{block_cores, cyclic_cores};
use crate::controller::select::options::Client;
use crate::request::distribution::{AcrossHosts, Order};

/// A node that the job gets, with the cores and CPUs that it has for it.
pub(super) struct PickedNode {
    pub at: usize,
    /// Cores that the tasks may use.
    pub free: CoreSet,
    /// Cores that are not specialised.
    pub all: CoreSet,
    pub cpus: u32,
}

/// The grant, or `None` if slurmctld does not find the cores after all.
pub(super) fn take(
    cluster: &Cluster,
    job: &Details,
    taken: Vec<PickedNode>,
    nodes_assumed: bool,
) -> Option<JobGrant> {
    let mut nodes = match job.has_core_spec() || job.whole {
        true => whole(cluster, job, taken)?,
        false => parts(cluster, job, &taken)?,
    };
    if job.whole {
        double_count(cluster, job, &mut nodes);
    }
    has_memory(cluster, job, &nodes).then(|| JobGrant {
        tasks: job.tasks,
        record: record(cluster.line, job, nodes.len() as u32),
        nodes,
        nodes_assumed,
    })
}

/// The facts on which steps depend.
pub(super) fn record(line: SlurmLine, job: &Details, nodes: u32) -> JobRecord {
    let is_newer = line > SlurmLine::V22_05;
    JobRecord {
        tasks_given: tasks_given(line, job, nodes),
        cpus_per_task: job.each_given.then_some(job.each),
        threads_per_core: job.threads,
        tasks_per_node: job.per_node,
        tasks_per_core: if is_newer {
            job.sent_per_core
        } else {
            job.per_core
        },
        whole_nodes: job.whole,
        overcommit: job.overcommit,
        memory: job.memory,
    }
}

/// `SLURM_NTASKS`; salloc counts by the nodes that it was given, and since 23.02.2 slurmd does so for a batch script
/// (`env_array_for_batch_job`).
fn tasks_given(line: SlurmLine, job: &Details, nodes: u32) -> Option<u32> {
    let by_node = job.per_node.map(|each| each.saturating_mul(nodes));
    match (job.client, job.sent_tasks) {
        (Client::Salloc, Some(tasks)) if line > SlurmLine::V22_05 => Some(tasks.max(nodes)),
        (Client::Salloc | Client::Sbatch, None) if line > SlurmLine::V22_05 => by_node,
        (Client::Salloc, Some(tasks)) => by_node.or(Some(tasks.max(nodes))),
        (_, sent) => sent,
    }
}

/// All cores of the nodes.
fn whole(cluster: &Cluster, job: &Details, taken: Vec<PickedNode>) -> Option<Vec<GrantedNode>> {
    let has: Vec<u32> = taken.iter().map(|taken| taken.cpus).collect();
    let granted = |taken: PickedNode| {
        let of_core = cluster.nodes[taken.at].cpus_per_core();
        let of_core = job.threads.map_or(of_core, |most| most.min(of_core));
        let (cores, cpus) = match job.has_core_spec() {
            true => (taken.free, taken.cpus),
            false => {
                let cpus = taken.all.count() as u32 * of_core;
                (taken.all, cpus)
            }
        };
        GrantedNode {
            node: taken.at,
            cores,
            cpus,
        }
    };
    counts::fit(cluster.line, job, &has).then(|| taken.into_iter().map(granted).collect())
}

/// With `--threads-per-core` the CPUs of whole nodes are counted by all threads again; slurmctld writes
/// them to the first nodes, however many other nodes need none (`_set_task_dist`).
fn double_count(cluster: &Cluster, job: &Details, nodes: &mut [GrantedNode]) {
    let by_cores = matches!(cluster.select.unit, Unit::Core | Unit::Socket);
    let Some(threads) = job.threads.filter(|_| by_cores) else {
        return;
    };
    let times = nodes
        .iter()
        .map(|node| cluster.nodes[node.node].cpus_per_core());
    let times: Vec<u32> = times.filter(|of_core| *of_core != threads).collect();
    for (node, times) in nodes.iter_mut().zip(times) {
        node.cpus = node.cpus.saturating_mul(times);
    }
}

/// The cores that each node gives: as many as its tasks need.
fn parts(cluster: &Cluster, job: &Details, taken: &[PickedNode]) -> Option<Vec<GrantedNode>> {
    let unit = cluster.select.unit;
    let records: Vec<&ClusterNode> = taken.iter().map(|taken| &cluster.nodes[taken.at]).collect();
    let has: Vec<u32> = taken.iter().map(|taken| taken.cpus).collect();
    let gives = counts::cpus(cluster.line, job, &records, &has)?;
    let in_blocks = in_blocks(cluster, job);
    let mut nodes = Vec::with_capacity(taken.len());
    let mut stopped = false;
    for ((taken, node), cpus) in taken.iter().zip(records).zip(gives) {
        let found = match in_blocks {
            true if stopped => None,
            // A node without a task keeps the cores that it could have used.
            true if cpus == 0 => Some(taken.free.clone()),
            true => block_cores(unit, job, node, &taken.free, cpus),
            false => Some(cyclic_cores(unit, job, node, &taken.free, cpus)?),
        };
        // Where a block does not fit, slurmctld complains and leaves this and all later nodes as they are.
        stopped |= found.is_none();
        let counted = match (unit, &found) {
            (Unit::Core | Unit::Socket, Some(cores)) if cpus > 0 => {
                cores.count() as u32 * node.cpus_per_core()
            }
            _ => cpus,
        };
        nodes.push(GrantedNode {
            node: taken.at,
            cores: found.unwrap_or_else(|| taken.free.clone()),
            cpus: counted,
        });
    }
    Some(nodes)
}

/// Whether the cores are taken in blocks: only the second level of `-m` and planes decide.
fn in_blocks(cluster: &Cluster, job: &Details) -> bool {
    let requested = &job.distribution;
    match (requested.hosts, requested.sockets) {
        _ if cluster.select.unit == Unit::Cpu => true,
        (AcrossHosts::Plane, _) => true,
        (_, None) => cluster.select.block_by_default,
        (_, Some(order)) => order == Order::Block,
    }
}

/// Whether the nodes have memory for the CPUs that the job was given in the end.
fn has_memory(cluster: &Cluster, job: &Details, nodes: &[GrantedNode]) -> bool {
    let mut nodes = nodes.iter();
    !cluster.select.memory
        || nodes.all(|granted| {
            let node = &cluster.nodes[granted.node];
            match job.memory {
                Memory::PerNode(memory) => memory <= node.memory,
                Memory::PerCpu(memory) => memory.saturating_mul(granted.cpus.into()) <= node.memory,
            }
        })
}
