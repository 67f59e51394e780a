//! Puts together the [`Facts`] of a job and of its part of each host: slurmctld's answer, or in an epilog the one that
//! the prolog has kept; slurmstepd's facts of this node, and the kernel's word on the job in which the command runs.

use std::collections::HashMap;

use berth_host::job_cgroup::Confined;
use berth_host::job_files::{Gres, NodeFacts};
use berth_placement::{Allocation, CoreIdx, CpuSet, Node, Owned, Request};

use super::job_cache::JobCache;
use crate::args::{EnvArgs, EnvMode, JobName};
use crate::world::job_record::{Job, Part, read_gres};
use crate::world::slurm_commands::{self, Deadline};
use crate::{Failure, world};

/// Finds everything out.
///
/// # Errors
/// slurmctld gave no answer, or the job has no nodes.
pub(super) fn facts(args: &EnvArgs, name: JobName) -> Result<Facts, Failure> {
    let here = here_name();
    let cache = JobCache::of(&here);
    let by = Deadline::new();
    let (job, is_kept) = job(args, name, &cache, &by)?;
    let parts = job.hosts();
    if parts.is_empty() {
        let why = format!(
            "slurmctld shows no nodes of job {name}; only a job that has started, and whose \
             epilog has not ended, has any"
        );
        return Err(why.into());
    }
    let threads = threads(args, &job, &here, &by)?;
    let node = world::node().filter(|node| node.name == here);
    let local = Local {
        is_kept,
        facts: cache.facts(job.id).filter(|facts| facts.uid == job.uid),
        confined: world::job::confined().filter(|found| found.job == job.id),
        node: node.and_then(|node| node.rules.as_ref()?.node(node.machine.clone())),
    };
    let cpu_counts: Vec<_> = parts.iter().map(|(_, part)| part.cpus().count()).collect();
    let tasks = task_counts(&job, &cpu_counts);
    let hosts = parts.into_iter().zip(tasks).map(|((name, part), tasks)| {
        let of_host = threads.get(&name).copied();
        let host = other(name, part, tasks, of_host);
        match host.name == here {
            true => local.fill(host, part),
            false => host,
        }
    });
    Ok(Facts {
        hosts: hosts.collect(),
        here,
        job,
    })
}

/// The job, and whether that is the prolog's answer.
fn job(
    args: &EnvArgs,
    name: JobName,
    cache: &JobCache,
    by: &Deadline,
) -> Result<(Job, bool), Failure> {
    match (args.mode(), name) {
        (EnvMode::Prolog, name) => {
            if let JobName::Job(id) = name {
                cache.forget(id);
            }
            let job = query(name, by)?;
            cache.keep(&job);
            Ok((job, false))
        }
        (EnvMode::Epilog, JobName::Job(id)) => match cache.answer(id) {
            Some(job) => Ok((job, true)),
            None => Ok((query(name, by)?, false)),
        },
        _ => Ok((query(name, by)?, false)),
    }
}

/// This node's name: slurmd's variable, else the node of this host that berth serves, else the host's.
fn here_name() -> String {
    world::job::node_name(world::node().as_deref()).unwrap_or_else(|| {
        let host = nix::unistd::gethostname().unwrap_or_default();
        let host = host.to_string_lossy().into_owned();
        host.split('.').next().unwrap_or_default().to_owned()
    })
}

fn query(name: JobName, by: &Deadline) -> Result<Job, Failure> {
    let found = slurm_commands::jobs(&name.to_string(), by);
    let found = found.map_err(|why| {
        format!(
            "slurmctld has not told about job {name}: {why}; see whether `scontrol show job \
             {name}` answers"
        )
    })?;
    let is_it = |job: &&Job| match name {
        JobName::Job(id) => job.id == id,
        JobName::Task(array, task) => job.array == Some((array, task)),
        JobName::Component(id, component) => job.component == Some((id, component)),
    };
    let job = found.iter().find(is_it);
    let job = job.ok_or_else(|| match found.is_empty() {
        true => format!("slurmctld shows no job {name}"),
        false => format!(
            "slurmctld shows {} jobs for {name} and none of this number; name a task of the \
             array as {name}_0",
            found.len()
        ),
    })?;
    Ok(job.clone())
}

/// The threads of a core of each host whose cores are wanted. slurmd has announced this host's.
fn threads(
    args: &EnvArgs,
    job: &Job,
    here: &str,
    by: &Deadline,
) -> Result<HashMap<String, u32>, Failure> {
    let node = world::node().filter(|node| node.name == here);
    let rules = node.as_ref().and_then(|node| node.rules.as_ref());
    let shape = rules.and_then(berth_site::SiteRules::shape);
    let own = shape.map(|shape| (here.to_owned(), shape.threads));
    let is_own = |name: &String| Some(name) == own.as_ref().map(|(name, _)| name);
    let wanted = |name: &String| match (&args.host, args.only) {
        (Some(host), _) => name == host,
        (None, only) => !only || name == here,
    };
    let names = job.hosts().into_iter().map(|(name, _)| name);
    let is_complete = names.filter(wanted).all(|name| is_own(&name));
    let mut found = match is_complete {
        true => HashMap::new(),
        false => {
            let lists: Vec<_> = job.parts.iter().map(|part| part.nodes.as_str()).collect();
            let requested = slurm_commands::threads(&lists.join(","), by);
            requested
                .map_err(|why| format!("slurmctld has not told about the job's nodes: {why}"))?
        }
    };
    found.extend(own);
    Ok(found)
}

/// The facts of a host that slurmctld alone tells.
fn other(name: String, part: &Part, task_count: Option<u32>, threads: Option<u32>) -> Host {
    let of_part = part.cpus();
    Host {
        name,
        task_count,
        cpu_count: of_part.count(),
        cores: threads
            .map(|count| cores_of(&of_part, count))
            .unwrap_or_default(),
        memory: Some(part.memory.saturating_mul(MIB)).filter(|bytes| *bytes > 0),
        gres: read_gres(&part.gres),
        ..Host::default()
    }
}

/// The facts of this host beyond slurmctld's answer.
struct Local {
    /// The prolog has kept slurmctld's answer, which then had the generic resources. In an epilog
    /// slurmctld tells them no more.
    is_kept: bool,
    /// slurmstepd's facts.
    facts: Option<NodeFacts>,
    /// The cgroup of this very process, if the job is its own.
    confined: Option<Confined>,
    node: Option<berth_placement::Node>,
}

impl Local {
    fn fill(&self, mut host: Host, part: &Part) -> Host {
        // Facts about an earlier run of the job are none about this one.
        let is_same = |facts: &&NodeFacts| facts.cores == host.cores.to_string();
        let facts = self.facts.iter().find(is_same).cloned();
        let facts = facts.unwrap_or_default();
        let confined = self.confined.as_ref();
        let limits = confined.map(|found| found.limits).unwrap_or_default();
        host.memory = host.memory.or(facts.memory);
        host.memory_limit = limits.memory.or(facts.memory_limit);
        host.swap_limit = limits.swap.or(facts.swap_limit);
        if part.gres.is_empty() && !self.is_kept {
            host.gres = facts.gres;
        }
        let by_cgroup = confined.and_then(|found| found.job_cpus.clone());
        let by_machine = || Some(cpus_of(&host.cores, self.node.as_ref()?));
        host.cpus = by_cgroup.or_else(by_machine).unwrap_or_default();
        host
    }
}

/// The CPUs of these cores.
fn cpus_of(cores: &CpuSet, node: &Node) -> CpuSet {
    let request = Request {
        allocation: Allocation::Cores {
            cores: cores.iter().map(|core| CoreIdx(core.0)).collect(),
            configured: node.table().cores.len() as u32,
        },
        ..Request::default()
    };
    Owned::of(&request, node).cpus
}

/// The cores of slurmctld's CPUs.
fn cores_of(cpus: &CpuSet, threads: u32) -> CpuSet {
    let core = |cpu: berth_placement::CpuId| berth_placement::CpuId(cpu.0 / threads.max(1));
    cpus.iter().map(core).collect()
}

/// One MiB: Slurm counts memory in these.
const MIB: u64 = 1 << 20;

/// The facts.
pub(super) struct Facts {
    pub job: Job,
    /// In slurmctld's order.
    pub hosts: Vec<Host>,
    /// The name of the host where the command runs.
    pub here: String,
}

impl Facts {
    /// All hosts, or the only one whose values are wanted.
    pub(super) fn shown<'a>(&'a self, only: Option<&'a Host>) -> &'a [Host] {
        only.map_or(&self.hosts, std::slice::from_ref)
    }
}

/// A job's part of a host. Empty sets and `None` are unknown, or nothing is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Host {
    pub name: String,
    pub task_count: Option<u32>,
    /// slurmctld's CPUs, of which a core has as many as slurm.conf says.
    pub cpu_count: usize,
    /// By the kernel's numbers.
    pub cpus: CpuSet,
    /// By Slurm's numbers.
    pub cores: CpuSet,
    /// Bytes, as are the limits.
    pub memory: Option<u64>,
    pub memory_limit: Option<u64>,
    pub swap_limit: Option<u64>,
    pub gres: Vec<Gres>,
}

impl Host {
    /// The numbers of its generic resources of that name, ascending.
    pub(super) fn indices(&self, name: &str) -> Vec<u32> {
        let mut all = CpuSet::new();
        for gres in self.gres.iter().filter(|gres| gres.name == name) {
            all.insert_all(&CpuSet::from_list(&gres.indices).unwrap_or_default());
        }
        all.iter().map(|number| number.0).collect()
    }
}

/// The number of tasks on each host, where slurmctld's numbers leave no choice: the tasks of each node
/// are given, or those of the job's only node, or the CPUs of every node are full of tasks.
fn task_counts(job: &Job, cpu_counts: &[usize]) -> Vec<Option<u32>> {
    let unknown = || vec![None; cpu_counts.len()];
    let Some(tasks) = job.tasks else {
        return unknown();
    };
    let hosts = cpu_counts.len() as u64;
    let adds_up = |counts: &[u64]| counts.iter().sum::<u64>() == u64::from(tasks);
    let known = |counts: Vec<u64>| adds_up(&counts).then_some(counts);
    let per_cpus = job.cpus_per_task.filter(|cpus| *cpus > 0).map(|cpus| {
        let counts = cpu_counts
            .iter()
            .map(|count| *count as u64 / u64::from(cpus));
        counts.collect()
    });
    let per_node = job
        .tasks_per_node
        .map(|tasks| vec![u64::from(tasks); cpu_counts.len()]);
    let even = vec![u64::from(tasks) / hosts.max(1); cpu_counts.len()];
    // One task for each node, or all of them on the only one.
    let only = (hosts == 1 || hosts == u64::from(tasks)).then_some(even);
    let found = only
        .and_then(known)
        .or_else(|| per_node.and_then(known))
        .or_else(|| per_cpus.and_then(known));
    found.map_or_else(unknown, |counts| {
        counts
            .into_iter()
            .map(|count| u32::try_from(count).ok())
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::task_counts;
    use crate::world::job_record::Job;

    #[test]
    fn tasks_of_each_host_where_slurm_tells_them() {
        for (tasks, per_task, per_node, cpus, expected) in [
            (Some(3), Some(1), None, &[8][..], &[Some(3)][..]),
            (Some(2), None, None, &[8, 8], &[Some(1), Some(1)]),
            (Some(6), Some(2), Some(3), &[8, 8], &[Some(3), Some(3)]),
            (Some(6), Some(2), None, &[8, 4], &[Some(4), Some(2)]),
            (Some(5), Some(2), None, &[8, 4], &[None, None]),
            (Some(5), Some(2), Some(3), &[8, 4], &[None, None]),
            (None, Some(2), None, &[8], &[None]),
            (Some(5), Some(0), None, &[], &[]),
        ] {
            let job = Job {
                tasks,
                cpus_per_task: per_task,
                tasks_per_node: per_node,
                ..Job::default()
            };
            assert_eq!(task_counts(&job, cpus), expected, "{job:?}");
        }
    }
}
