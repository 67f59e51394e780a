//! The facts of a job: its own, and its part of each host.

use berth_host::job_files::Gres;
use berth_placement::CpuSet;

use crate::here::scontrol::Job;

/// One MiB: Slurm counts memory in these.
pub(super) const MIB: u64 = 1 << 20;

/// The facts.
pub(super) struct Facts {
    pub job: Job,
    /// In slurmctld's order.
    pub hosts: Vec<Host>,
    /// The name of the host where the command runs.
    pub here: String,
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
pub(super) fn task_counts(job: &Job, cpu_counts: &[usize]) -> Vec<Option<u32>> {
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
    use crate::here::scontrol::Job;

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
