//! The answer to a step (`step_create` of slurmctld).
//! In: the job and the request. Out: the step's nodes, cores and tasks, or why there are none. Pure.

pub(super) mod asked;
mod cores;
pub(super) mod job;
mod nodes;

use crate::controller::layout::Across;
use crate::controller::select::answer::{Gap, StepAnswer, StepGrant, StepNode, StepRefusal};
use crate::controller::select::cluster::SlurmLine;
use crate::controller::select::step::asked::Asked;
use crate::controller::select::step::job::Job;
use crate::request::distribution::AcrossHosts;

pub(super) fn answer(job: &Job<'_>, asked: &Asked) -> StepAnswer {
    match grant(job, asked) {
        Ok(grant) => StepAnswer::Granted(grant),
        Err(answer) => answer,
    }
}

fn grant(job: &Job<'_>, asked: &Asked) -> Result<StepGrant, StepAnswer> {
    if asked.distribution.hosts == AcrossHosts::Arbitrary {
        return Err(StepAnswer::NotModelled(Gap::Arbitrary));
    }
    let of_job = job.grant.record.threads_per_core;
    let too_many = |asked: u32| of_job.is_some_and(|most| asked > most);
    if asked.threads.is_some_and(too_many) {
        return Err(StepAnswer::Refused(StepRefusal::ThreadsPerCore));
    }
    let each = cpus_per_task(job, asked);
    let picked = nodes::pick(job, asked)?;
    let tasks = tasks(job, asked, each, &picked);
    let open = asked.per_core.is_none() || asked.per_core == of_job;
    let takes_all = !asked.overcommit && asked.cpus == job.all_cpus && open;
    let mut nodes = Vec::with_capacity(picked.len());
    for (&at, &tasks) in picked.iter().zip(tasks.counts()) {
        let cores = match takes_all {
            true => job.nodes[at].cores.clone(),
            false => cores::pick(job, asked, at, tasks, each)?,
        };
        let node = job.nodes[at].node;
        nodes.push(StepNode { node, cores, tasks });
    }
    Ok(StepGrant {
        nodes,
        tasks: asked.tasks,
    })
}

/// CPUs of a task, or 0 if the tasks do not divide the CPUs (`_calc_cpus_per_task`).
fn cpus_per_task(job: &Job<'_>, asked: &Asked) -> u32 {
    if let Some(each) = asked.each.filter(|_| job.cluster.line > SlurmLine::V22_05) {
        return each;
    }
    if asked.overcommit || asked.cpus == 0 || !asked.cpus.is_multiple_of(asked.tasks) {
        return 0;
    }
    let each = asked.cpus / asked.tasks;
    let room = job.values.iter().map(|cpus| cpus / each);
    match room.clone().any(|tasks| tasks == 0) || room.sum::<u32>() < asked.tasks {
        true => 0,
        false => each,
    }
}

/// Tasks of each picked node (`step_layout_create`, `slurm_step_layout_create`).
fn tasks(job: &Job<'_>, asked: &Asked, each: u32, picked: &[usize]) -> Across {
    let room: Vec<u32> = picked
        .iter()
        .map(|&at| room(job, asked, each, at))
        .collect();
    Across::new(&room, asked.tasks, &asked.distribution)
}

/// Tasks for which slurmctld sees room on a node.
fn room(job: &Job<'_>, asked: &Asked, each: u32, at: usize) -> u32 {
    let node = job.node(at);
    let record = &job.grant.record;
    let threads = asked.threads.or(record.threads_per_core);
    let limit = match job.cluster.line {
        SlurmLine::V22_05 => record.tasks_per_core,
        _ => asked.per_core,
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
    let planes = asked.distribution.hosts == AcrossHosts::Plane;
    match asked.per_node.filter(|_| !planes) {
        Some(most) => room.min(most.saturating_mul(each)),
        None => room,
    }
}
