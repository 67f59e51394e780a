//! How many tasks a step has where `-c` is given and `-n` is not: as many as the job's CPUs on a node hold.
//! In: those CPUs. Out: a number of tasks. Pure. Source: `_set_ntasks` of srun; from 24.05 on
//! `_set_max_num_tasks` of slurmctld.

/// What slurmctld counts for a job on one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobCpus {
    /// CPUs of the job's cores.
    pub cpus: u32,
    /// CPUs of one core.
    pub of_core: u32,
}

impl JobCpus {
    /// The tasks of `each` CPUs for which they suffice, where `threads` of a core may be used.
    #[must_use]
    pub fn tasks(self, each: u32, threads: Option<u32>) -> u32 {
        let cores = self.cpus.div_ceil(self.of_core.max(1));
        let usable = threads.map_or(self.cpus, |threads| cores.saturating_mul(threads));
        usable / each.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_tasks_count() {
        let node = JobCpus {
            cpus: 8,
            of_core: 2,
        };
        for (each, threads, tasks) in [
            (2, None, 4),
            (3, None, 2),
            (9, None, 0),
            (2, Some(1), 2),
            (2, Some(2), 4),
        ] {
            assert_eq!(node.tasks(each, threads), tasks, "-c{each}, {threads:?}");
        }
    }
}
