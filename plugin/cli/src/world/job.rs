//! The job in which this process runs, and its cores on this node. The kernel's cgroup is believed
//! first, then slurmctld; SLURM_ variables are hints, because a user can set them.
//!
//! The node of this host that berth serves: slurmd's announcement and its machine, as every user may
//! read them. Files that somebody else than root could have written do not count.

use std::sync::Arc;

use berth_answer::world::{BerthNode, GpusOfJob, OnNode, OwnJob, Part};
use berth_host::job_cgroup::{self, Confined};
use berth_host::{OnlineCpus, StateDir, affinity_of, announcement, machine_file};
use berth_placement::Machine;

use super::scontrol;
use super::state::{self, nodes_of};

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
        _ => scontrol::job(id),
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

/// This node's name.
fn node_name(node: Option<&BerthNode>) -> Option<String> {
    let name = std::env::var("SLURMD_NODENAME").ok();
    name.or_else(|| node.map(|node| node.name.clone()))
}

/// The job's GPUs on this node, by slurmctld.
pub(super) fn gpus(job: &OwnJob, node: Option<&BerthNode>) -> Result<GpusOfJob, String> {
    let requested = match job.nodes.is_empty() {
        true => scontrol::job(job.id)?,
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

/// Looks for it.
pub(super) fn found_node() -> Option<BerthNode> {
    let base = state::base(None);
    let own = std::env::var("SLURMD_NODENAME").ok();
    let nodes = nodes_of(&base, None);
    let name = own.filter(|own| nodes.contains(own));
    let name = name.or_else(|| nodes.first().cloned())?;
    let dir = StateDir::new(&base, &name).ok()?;
    let words = announcement::read(&dir).ok()?;
    Some(BerthNode {
        others: nodes.into_iter().filter(|node| *node != name).collect(),
        rules: words.site_rules(),
        machine: machine(&dir),
        words,
        name,
    })
}

/// slurmd's machine: the whole node, also for a user whose cgroup shows a part of it. A variable of
/// hwloc's asks for another machine.
fn machine(dir: &StateDir) -> Option<Arc<Machine>> {
    let is_pretended = |name| std::env::var_os(name).is_some();
    if ["HWLOC_SYNTHETIC", "HWLOC_XMLFILE"]
        .into_iter()
        .any(is_pretended)
    {
        return None;
    }
    let file = machine_file::read(dir.machine_path()).ok()?;
    let online = OnlineCpus::open().ok();
    let same = |online: OnlineCpus| online.unchanged(&file.proof.online);
    let is_fresh = !file.this_system || online.is_none_or(same);
    is_fresh.then(|| Arc::new(file.machine))
}
