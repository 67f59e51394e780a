//! The answer to a step (`step_create` of slurmctld).
//! In: the job and the request. Out: the step's nodes, cores and tasks, or why there are none. Pure.

mod cores;
mod nodes;
pub(super) mod request;

use crate::controller::Across;
use crate::controller::select::answer::{Gap, StepAnswer, StepGrant, StepNode, StepRefusal};
use crate::controller::select::cluster::SlurmLine;
use crate::controller::select::step::request::{Job, StepRequest};
use crate::request::distribution::AcrossHosts;

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
            false => cores::pick(job, request, at, tasks, each)?,
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
    let planes = request.distribution.hosts == AcrossHosts::Plane;
    match request.per_node.filter(|_| !planes) {
        Some(most) => room.min(most.saturating_mul(each)),
        None => room,
    }
}
