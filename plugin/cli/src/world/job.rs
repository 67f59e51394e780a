//! The job in which this process runs, and its cores on this node. The kernel's cgroup is believed
//! first, then slurmctld; SLURM_ variables are hints, because a user can set them.

use berth_answer::world::{BerthNode, GpusOfJob, OnNode, OwnJob, Part};
use berth_host::affinity_of;
use berth_host::job_cgroup::{self, Confined};

use super::slurm_commands;

/// Looks for it.
pub(super) fn find(node: Option<&BerthNode>) -> Option<OwnJob> {
    let hinted = hinted();
    let confined = confined();
    let id = confined.as_ref().map(|found| found.job).or(hinted)?;
    let name = node_name(node);
    let part = confined.as_ref().and_then(|found| by_cgroup(found, id));
    let is_one_node = number("SLURM_JOB_NUM_NODES").is_none_or(|nodes| nodes <= 1);
    let requested = match part {
        Some(_) if is_one_node => Ok(Vec::new()),
        _ => slurm_commands::job(id),
    };
    let by_slurmctld = requested.as_ref().ok().and_then(|nodes| {
        let here = |node: &&OnNode| Some(&node.name) == name.as_ref();
        let found = nodes.iter().find(here)?;
        let how = format!("scontrol show job -d {id}, node {}", found.name);
        Some((Part::Abstract(found.cpus.clone()), how))
    });
    let why = match (&requested, &by_slurmctld) {
        (Err(why), _) => why.clone(),
        (Ok(_), None) => format!("job {id} has no cores on this node"),
        (Ok(_), Some(_)) => String::new(),
    };
    Some(OwnJob {
        id,
        part: part
            .or(by_slurmctld)
            .or_else(|| by_affinity(confined.as_ref())),
        unknown: why,
        step: confined.as_ref().and_then(of_step),
        nodes: requested.unwrap_or_default(),
    })
}

/// The job by Slurm's variables.
pub(crate) fn hinted() -> Option<u32> {
    number("SLURM_JOB_ID").or_else(|| number("SLURM_JOBID"))
}

/// The kernel's word on the job.
pub(crate) fn confined() -> Option<Confined> {
    job_cgroup::of_this_process(hinted())
}

/// This node's name: slurmd's variable, else the node of this host that berth serves.
pub(crate) fn node_name(node: Option<&BerthNode>) -> Option<String> {
    let name = std::env::var("SLURMD_NODENAME").ok();
    name.or_else(|| node.map(|node| node.name.clone()))
}

/// The job's GPUs on this node, by slurmctld.
pub(super) fn gpus(job: &OwnJob, node: Option<&BerthNode>) -> Result<GpusOfJob, String> {
    let requested = match job.nodes.is_empty() {
        true => slurm_commands::job(job.id)?,
        false => job.nodes.clone(),
    };
    let name = node_name(node);
    let mut nodes = requested.into_iter();
    let here = nodes.find(|found| Some(&found.name) == name.as_ref());
    here.map(|found| found.gpus)
        .ok_or_else(|| format!("job {} has no cores on this node", job.id))
}

/// The number that a variable has.
pub(crate) fn number(name: &str) -> Option<u32> {
    std::env::var(name).ok()?.parse().ok()
}

fn by_cgroup(found: &Confined, id: u32) -> Option<(Part, String)> {
    let cpus = found.job_cpus.clone()?;
    Some((Part::Cpus(cpus), format!("the cgroup of job {id}")))
}

fn of_step(found: &Confined) -> Option<(Part, String)> {
    let (cpus, step) = (found.step_cpus.clone()?, found.step.as_deref()?);
    let how = format!("the cgroup of step {}.{step}", found.job);
    Some((Part::Cpus(cpus), how))
}

/// A batch script is bound to all of its job's CPUs; a task of another step only to its own.
fn by_affinity(confined: Option<&Confined>) -> Option<(Part, String)> {
    let is_batch = confined?.step.as_deref() == Some("batch");
    let cpus = affinity_of(0).ok().filter(|_| is_batch)?;
    Some((
        Part::Cpus(cpus),
        "the CPUs to which this batch script is bound".into(),
    ))
}
