//! The variables from which srun takes options that concern tasks, nodes and CPUs:
//! facts of `env_vars` in srun's `opt.c`.

use crate::release::Release::{self, V22_05, V23_02, V23_11};

/// Variable, option, and the lines that read it.
type Row = (&'static str, &'static str, Release, Release);

/// The variables in the order in which srun reads them.
const ROWS: &[Row] = &[
    ("SLURM_CORE_SPEC", "core-spec", V22_05, Release::NEWEST),
    (
        "SLURM_CPUS_PER_TASK",
        "cpus-per-task",
        V23_11,
        Release::NEWEST,
    ),
    ("SRUN_CPUS_PER_TASK", "cpus-per-task", V22_05, V23_02),
    ("SLURM_CPU_BIND", "cpu-bind", V22_05, Release::NEWEST),
    (
        "SLURM_DISTRIBUTION",
        "distribution",
        V22_05,
        Release::NEWEST,
    ),
    ("SLURM_EXACT", "exact", V22_05, Release::NEWEST),
    ("SLURM_EXCLUSIVE", "exclusive", V22_05, Release::NEWEST),
    ("SLURM_HINT", "hint", V22_05, Release::NEWEST),
    ("SLURM_JOB_NUM_NODES", "nodes", V22_05, Release::NEWEST),
    ("SLURM_MEM_BIND", "mem-bind", V22_05, Release::NEWEST),
    (
        "SLURM_NCORES_PER_SOCKET",
        "cores-per-socket",
        V22_05,
        Release::NEWEST,
    ),
    ("SLURM_NPROCS", "ntasks", V22_05, Release::NEWEST),
    ("SLURM_NTASKS", "ntasks", V22_05, Release::NEWEST),
    (
        "SLURM_NSOCKETS_PER_NODE",
        "sockets-per-node",
        V22_05,
        Release::NEWEST,
    ),
    (
        "SLURM_NTASKS_PER_CORE",
        "ntasks-per-core",
        V23_02,
        Release::NEWEST,
    ),
    (
        "SLURM_NTASKS_PER_NODE",
        "ntasks-per-node",
        V22_05,
        Release::NEWEST,
    ),
    ("SLURM_OVERCOMMIT", "overcommit", V22_05, Release::NEWEST),
    ("SLURM_OVERLAP", "overlap", V22_05, Release::NEWEST),
    ("SLURM_THREAD_SPEC", "thread-spec", V22_05, Release::NEWEST),
    (
        "SLURM_THREADS_PER_CORE",
        "threads-per-core",
        V22_05,
        Release::NEWEST,
    ),
    // No option: it names a file of hosts.
    (super::HOST_FILE, super::HOST_FILE, V22_05, Release::NEWEST),
];

/// The variables that srun of a line reads, each with the long name of its option.
pub fn variables(release: Release) -> impl Iterator<Item = (&'static str, &'static str)> {
    let holds = move |row: &&Row| row.2 <= release && release <= row.3;
    ROWS.iter().filter(holds).map(|row| (row.0, row.1))
}

/// The options that salloc and sbatch pass to the steps of their job by a variable.
/// Source: `set_envs`, `env_array_for_job`.
const PASSED: [&str; 10] = [
    "ntasks",
    "nodes",
    "ntasks-per-node",
    "ntasks-per-core",
    "distribution",
    "threads-per-core",
    "hint",
    "overcommit",
    "cpus-per-task",
    "mem-bind",
];

/// The variable by which a step takes an option over from its job; none if it does not.
#[must_use]
pub fn passed_by(name: &str, release: Release) -> Option<&'static str> {
    let all = variables(release).filter(|_| PASSED.contains(&name));
    let is_it =
        |(variable, option): &(&str, &str)| *option == name && variable.starts_with("SLURM_");
    all.filter(is_it).last().map(|(variable, _)| variable)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Command, Found, long};

    #[test]
    fn a_step_takes_some_options_over() {
        let by = |name| [V22_05, V23_02, V23_11].map(|release| passed_by(name, release));
        let each = Some("SLURM_CPUS_PER_TASK");
        assert_eq!(by("cpus-per-task"), [None, None, each]);
        let core = Some("SLURM_NTASKS_PER_CORE");
        assert_eq!(by("ntasks-per-core"), [None, core, core]);
        assert_eq!(by("cpu-bind"), [None; 3]);
    }

    #[test]
    fn each_stands_for_an_option() {
        for release in Release::ALL {
            for (variable, name) in variables(release) {
                let found = long(Command::Srun, Some(release), name);
                let is_option = matches!(found, Found::Option(row) if row.name() == name);
                assert!(is_option || name == variable, "{variable} {release}");
            }
        }
        let names = |release| variables(release).map(|(name, _)| name).collect::<Vec<_>>();
        assert!(names(V22_05).contains(&"SRUN_CPUS_PER_TASK"));
        assert!(names(V23_11).contains(&"SLURM_CPUS_PER_TASK"));
        assert!(!names(V23_11).contains(&"SRUN_CPUS_PER_TASK"));
    }
}
