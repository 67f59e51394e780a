//! The answer to a step (`step_create` of slurmctld), and which of the job's cores on a node the step gets
//! (`_pick_step_cores`, `_handle_core_select`).
//! In: the job and the request. Out: the step's nodes, cores and tasks, or why there are none. Pure.

mod nodes;
pub(super) mod request;

use crate::controller::Across;
use crate::controller::select::answer::{Gap, StepAnswer, StepGrant, StepNode, StepRefusal};
use crate::controller::select::cluster::{ClusterNode, CoreSet, SlurmLine};
use crate::controller::select::step::request::{Job, StepRequest};
use crate::request::distribution::{AcrossHosts, Order};

pub(super) fn answer(job: &Job<'_>, request: &StepRequest) -> StepAnswer {
    match grant(job, request) {
        Ok(grant) => StepAnswer::Granted(grant),
        Err(answer) => answer,
    }
}

fn grant(job: &Job<'_>, request: &StepRequest) -> Result<StepGrant, StepAnswer> {
    if request.distribution.hosts == AcrossHosts::Arbitrary {
        return Err(StepAnswer::NotModelled(Gap::Arbitrary));
    }
    let of_job = job.grant.record.threads_per_core;
    let too_many = |threads: u32| of_job.is_some_and(|most| threads > most);
    if request.threads.is_some_and(too_many) {
        return Err(StepAnswer::Refused(StepRefusal::ThreadsPerCore));
    }
    let each = cpus_per_task(job, request);
    let picked = nodes::pick(job, request)?;
    let tasks = tasks(job, request, each, &picked);
    let open = request.per_core.is_none() || request.per_core == of_job;
    let takes_all = !request.overcommit && request.cpus == job.all_cpus && open;
    let mut nodes = Vec::with_capacity(picked.len());
    for (&at, &tasks) in picked.iter().zip(tasks.counts()) {
        let cores = match takes_all {
            true => job.nodes[at].cores.clone(),
            false => pick_cores(job, request, at, tasks, each)?,
        };
        let node = job.nodes[at].node;
        nodes.push(StepNode { node, cores, tasks });
    }
    Ok(StepGrant {
        nodes,
        tasks: request.tasks,
    })
}

/// CPUs of a task, or 0 if the tasks do not divide the CPUs (`_calc_cpus_per_task`).
fn cpus_per_task(job: &Job<'_>, request: &StepRequest) -> u32 {
    if let Some(each) = request
        .each
        .filter(|_| job.cluster.line > SlurmLine::V22_05)
    {
        return each;
    }
    if request.overcommit || request.cpus == 0 || !request.cpus.is_multiple_of(request.tasks) {
        return 0;
    }
    let each = request.cpus / request.tasks;
    let room = job.values.iter().map(|cpus| cpus / each);
    match room.clone().any(|tasks| tasks == 0) || room.sum::<u32>() < request.tasks {
        true => 0,
        false => each,
    }
}

/// Tasks of each picked node (`step_layout_create`, `slurm_step_layout_create`).
fn tasks(job: &Job<'_>, request: &StepRequest, each: u32, picked: &[usize]) -> Across {
    let room: Vec<u32> = picked
        .iter()
        .map(|&at| room(job, request, each, at))
        .collect();
    Across::new(&room, request.tasks, &request.distribution)
}

/// Tasks for which slurmctld sees room on a node.
fn room(job: &Job<'_>, request: &StepRequest, each: u32, at: usize) -> u32 {
    let node = job.node(at);
    let record = &job.grant.record;
    let threads = request.threads.or(record.threads_per_core);
    let limit = match job.cluster.line {
        SlurmLine::V22_05 => record.tasks_per_core,
        _ => request.per_core,
    };
    let mut cpus = job.nodes[at].cpus;
    let mut each = each;
    if threads == Some(1) {
        cpus /= node.threads_per_core;
    } else if limit == Some(1) {
        each = each.max(threads.unwrap_or(node.threads_per_core));
    }
    let each = each.max(1);
    let room = (cpus / each).max(1);
    let room = node.most_tasks.map_or(room, |most| most.min(room));
    let planes = request.distribution.hosts == AcrossHosts::Plane;
    match request.per_node.filter(|_| !planes) {
        Some(most) => room.min(most.saturating_mul(each)),
        None => room,
    }
}

/// The step's cores on one node of the job.
fn pick_cores(
    job: &Job<'_>,
    request: &StepRequest,
    at: usize,
    tasks: u32,
    each: u32,
) -> Result<CoreSet, StepAnswer> {
    let node = job.node(at);
    let granted = &job.nodes[at];
    if tasks == 0 {
        return Err(match job.cluster.line {
            SlurmLine::V22_05 => StepAnswer::NotModelled(Gap::KillsSlurmctld),
            _ => StepAnswer::Refused(StepRefusal::TaskCount),
        });
    }
    let line = job.cluster.line;
    let is_newer = line > SlurmLine::V22_05;
    let of_core = cpus_per_core(job, request, node);
    if (request.whole || tasks == node.cores()) && fits(line, request, node, tasks, of_core) {
        return Ok(match is_newer {
            true => {
                let count = granted.cpus.div_ceil(of_core);
                in_order(request, node, &granted.cores, count, count.div_ceil(tasks))
            }
            false => granted.cores.clone(),
        });
    }
    let count = match is_newer {
        true if each == 0 => tasks,
        true => tasks
            .saturating_mul(whole_share(job, request, node, each))
            .div_ceil(of_core),
        false => cores_of(tasks, each, of_core),
    };
    let (has_room, of_task) = match is_newer {
        true => (
            count <= granted.cpus.div_ceil(of_core) || request.overcommit,
            count.div_ceil(tasks),
        ),
        false => (count <= granted.cpus, count / tasks),
    };
    if !has_room {
        return Err(StepAnswer::Refused(StepRefusal::TooManyCpus));
    }
    let cores = in_order(request, node, &granted.cores, count, of_task);
    match (cores.count() as u32) < count {
        true if request.overcommit && line == SlurmLine::V26_05 => Ok(cores),
        true if request.overcommit => Err(StepAnswer::NotModelled(Gap::OvercommittedStep)),
        true => Err(StepAnswer::Waits),
        false => Ok(cores),
    }
}

/// Whether the tasks fit the node's cores at all, at which later lines look.
fn fits(
    line: SlurmLine,
    request: &StepRequest,
    node: &ClusterNode,
    tasks: u32,
    of_core: u32,
) -> bool {
    let most = node
        .cores()
        .saturating_mul(request.per_core.unwrap_or(of_core));
    match line {
        SlurmLine::V22_05 => true,
        SlurmLine::V24_11 => tasks <= most || request.overcommit,
        SlurmLine::V26_05 => tasks <= most,
    }
}

/// CPUs of a task, rounded up where its core is shared by fewer tasks than the core has CPUs.
fn whole_share(job: &Job<'_>, request: &StepRequest, node: &ClusterNode, each: u32) -> u32 {
    let threads = request.threads.or(job.grant.record.threads_per_core);
    let of_core = threads.unwrap_or(node.cpus_per_core());
    let share = request.per_core.map_or(1, |most| of_core / most.max(1));
    each.next_multiple_of(share.max(1))
}

/// CPUs of a core that the step uses.
fn cpus_per_core(job: &Job<'_>, request: &StepRequest, node: &ClusterNode) -> u32 {
    if node.cpus == node.cores() {
        return 1;
    }
    let threads = request.threads.or(job.grant.record.threads_per_core);
    threads.unwrap_or(node.threads_per_core).max(1)
}

/// Cores that the tasks need in 22.05.
fn cores_of(tasks: u32, each: u32, of_core: u32) -> u32 {
    match each {
        0 => tasks,
        _ if each > of_core => tasks.saturating_mul(each.div_ceil(of_core)),
        _ => tasks.saturating_mul(each).div_ceil(of_core),
    }
}

/// The first `count` of these cores, in the order of the second level of `-m`.
fn in_order(
    request: &StepRequest,
    node: &ClusterNode,
    free: &CoreSet,
    count: u32,
    of_task: u32,
) -> CoreSet {
    let (sockets, each) = (node.sockets, node.cores_per_socket);
    let is_free = |core: &u32| free.contains(*core);
    match request.distribution.sockets {
        Some(Order::Block) => free.iter().take(count as usize).collect(),
        Some(Order::Fcyclic) => {
            let all = (0..node.cores()).map(|at| at % sockets * each + at / sockets);
            all.filter(is_free).take(count as usize).collect()
        }
        _ => task_by_task(node, free, count, of_task),
    }
}

/// The cores of one task from a socket, then the next socket; cores of no task fill the first socket.
fn task_by_task(node: &ClusterNode, free: &CoreSet, count: u32, of_task: u32) -> CoreSet {
    let each = node.cores_per_socket;
    let mut next: Vec<u32> = (0..node.sockets).map(|at| at * each).collect();
    let mut cores = CoreSet::new();
    let (mut left, mut of_this) = (count, 0);
    let mut found = true;
    while found && left > 0 {
        found = false;
        for (at, next) in (1..).zip(&mut next) {
            let end = at * each;
            for core in free.iter_in(*next..end) {
                *next = core + 1;
                cores.insert(core);
                found = true;
                left -= 1;
                of_this += 1;
                if left == 0 {
                    return cores;
                }
                if of_this == of_task {
                    of_this = 0;
                    break;
                }
            }
        }
    }
    cores
}
