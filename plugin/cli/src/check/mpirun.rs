//! mpirun in a batch script of a job that has several CPUs per task.

use super::Finding;
use super::case::Case;
use super::words::joined;

/// Options with which the user places the ranks.
const PLACEMENT: &[&str] = &[
    "map-by",
    "bind-to",
    "rank-by",
    "cpus-per-rank",
    "cpus-per-proc",
    "rankfile",
    "rf",
    "cpu-set",
];

/// The finding about an mpirun.
pub(super) fn check(case: &Case<'_>) -> Option<Finding> {
    let words = &case.command.words;
    let placed = words.iter().any(|word| {
        let name = word
            .trim_start_matches('-')
            .split('=')
            .next()
            .unwrap_or_default();
        word.starts_with('-') && PLACEMENT.contains(&name)
    });
    let threads = case.openmp_threads().unwrap_or(1);
    let cpus = case.cpus_per_task().max(threads);
    (cpus > 1 && !placed).then(|| {
        Finding::warning(
            case.command,
            "mpirun-one-core",
            format!("mpirun with {cpus} CPUs per rank and no --map-by"),
            "Open MPI binds each rank to one core unless --map-by gives the CPUs per rank; all \
             threads of a rank share that core",
            format!("mpirun --map-by slot:PE={cpus} {}", joined(words)),
        )
    })
}
