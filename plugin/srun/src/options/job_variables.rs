//! The variables from which sbatch and salloc take options that decide which nodes, cores and
//! tasks a job gets: facts of `env_vars` in their `opt.c`, which are the same in all release lines.

use super::{Command, Found, long};
use crate::release::Release;

/// Option, sbatch's variable, salloc's variable.
type Row = (&'static str, Option<&'static str>, Option<&'static str>);

macro_rules! row {
    ($option:literal, $name:literal) => {
        (
            $option,
            Some(concat!("SBATCH_", $name)),
            Some(concat!("SALLOC_", $name)),
        )
    };
}

/// The variables in the order in which they are read: of two for one option the later holds.
const ROWS: &[Row] = &[
    ("batch", Some("SBATCH_BATCH"), None),
    row!("bb", "BURST_BUFFER"),
    row!("cluster-constraint", "CLUSTER_CONSTRAINT"),
    row!("clusters", "CLUSTERS"),
    ("clusters", Some("SLURM_CLUSTERS"), Some("SLURM_CLUSTERS")),
    row!("consolidate-segments", "CONSOLIDATE_SEGMENTS"),
    row!("constraint", "CONSTRAINT"),
    row!("core-spec", "CORE_SPEC"),
    row!("cpus-per-gpu", "CPUS_PER_GPU"),
    ("distribution", Some("SBATCH_DISTRIBUTION"), None),
    row!("exclusive", "EXCLUSIVE"),
    row!("gres", "GRES"),
    row!("gres-flags", "GRES_FLAGS"),
    row!("gpus", "GPUS"),
    row!("gpus-per-node", "GPUS_PER_NODE"),
    row!("gpus-per-socket", "GPUS_PER_SOCKET"),
    row!("gpus-per-task", "GPUS_PER_TASK"),
    ("hint", Some("SLURM_HINT"), Some("SALLOC_HINT")),
    ("hint", Some("SBATCH_HINT"), Some("SLURM_HINT")),
    row!("mem-bind", "MEM_BIND"),
    row!("mem-per-cpu", "MEM_PER_CPU"),
    row!("mem-per-gpu", "MEM_PER_GPU"),
    row!("mem", "MEM_PER_NODE"),
    row!("overcommit", "OVERCOMMIT"),
    row!("partition", "PARTITION"),
    row!("switches", "REQ_SWITCH"),
    row!("reservation", "RESERVATION"),
    row!("segment", "SEGMENT_SIZE"),
    row!("spread-job", "SPREAD_JOB"),
    row!("thread-spec", "THREAD_SPEC"),
    row!("threads-per-core", "THREADS_PER_CORE"),
    row!("tres-per-task", "TRES_PER_TASK"),
    row!("use-min-nodes", "USE_MIN_NODES"),
];

/// The variables that sbatch or salloc of a line reads, each with the long name of its option; srun
/// has others ([`super::variables`]).
pub fn job_variables(
    command: Command,
    release: Release,
) -> impl Iterator<Item = (&'static str, &'static str)> {
    ROWS.iter().filter_map(move |(option, sbatch, salloc)| {
        let variable = match command {
            Command::Sbatch => sbatch,
            Command::Salloc => salloc,
            Command::Srun => &None,
        };
        let is_there = matches!(long(command, Some(release), option), Found::Option(_));
        variable.filter(|_| is_there).map(|name| (name, *option))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::selection::concerns;

    fn names(command: Command, release: Release) -> Vec<&'static str> {
        let pairs = job_variables(command, release);
        pairs.map(|(variable, _)| variable).collect()
    }

    #[test]
    fn each_stands_for_an_option_that_concerns_the_job() {
        for command in [Command::Sbatch, Command::Salloc] {
            let mut newest = job_variables(command, Release::NEWEST);
            assert!(newest.all(|(_, option)| concerns(option)));
            assert!(names(command, Release::NEWEST).len() > 25);
            assert!(names(command, Release::V22_05).contains(&"SLURM_HINT"));
        }
        assert!(names(Command::Srun, Release::NEWEST).is_empty());
        let sbatch = names(Command::Sbatch, Release::V22_05);
        assert!(sbatch.contains(&"SBATCH_DISTRIBUTION"));
        assert!(!sbatch.contains(&"SBATCH_SEGMENT_SIZE"));
        assert!(!names(Command::Salloc, Release::NEWEST).contains(&"SALLOC_DISTRIBUTION"));
    }
}
