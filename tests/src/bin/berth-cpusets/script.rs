//! A script in a cpuset whose plain srun inherits the job's `-c`: from 23.11 on Slurm then gives the step cores of its own,
//! which need not be the cpuset's.

use crate::site::Site;

/// The job's options, its cpuset, and the task's CPUs.
const LINES: [(&str, &str, &str); 3] = [
    ("-c2", "CPU_LIST=2-3", "2-3"),
    ("-c4", "CPU_LIST=8-11", "8-11"),
    ("-c2", "CPU_LIST=12-13", "12-13"),
];

pub fn play(site: &Site) {
    for (count, cpuset, cpus) in LINES {
        let text = format!("sbatch {count} --cpuset='{cpuset}', srun");
        site.judge(&text, || {
            let cpuset = format!("--cpuset={cpuset}");
            let done = site.script(&["--exclusive", "-N1", "-n1", count, &cpuset]);
            let found: Vec<_> = done.lines().collect();
            let place = format!(" {cpus} {cpus} 0-1 default");
            let is_it = matches!(found.as_slice(), [task] if task.ends_with(&place));
            (!is_it).then(|| format!("not {cpus}: {found:?}"))
        });
    }
}
