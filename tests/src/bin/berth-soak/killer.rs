//! Kills what lives: tasks, steps, slurmstepds, slurmd, slurmctld; and upgrades the object. Also nurses the node, which
//! Slurm takes out of service for some of it.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::counts::count;
use crate::processes::{find, kill_one};
use crate::upgrade;
use crate::work::Soak;

/// Seconds for one scancel.
const SCANCEL: &str = "20";

/// This program's name as the kernel shows it: fifteen bytes.
pub fn task() -> String {
    let own = std::env::current_exe().expect("this program has a path");
    let name = own.file_name().unwrap_or_default().to_string_lossy();
    name.chars().take(15).collect()
}

/// Until the workers are done.
pub fn run(soak: &Soak, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut nursed = Instant::now();
    while !soak.done.load(Ordering::Relaxed) {
        soak.pause(&mut random, soak.kill_every / 3..soak.kill_every * 5 / 3);
        one(soak, &mut random);
        if nursed.elapsed() > Duration::from_secs(1) {
            soak.nurse();
            nursed = Instant::now();
        }
    }
}

fn one(soak: &Soak, random: &mut fastrand::Rng) {
    let counts = &soak.counts;
    let folder = soak.cluster.folder().to_string_lossy().into_owned();
    let daemons = soak.daemons.unwrap_or(2);
    // The last slurmd is spared, so that its memory can be seen.
    let (slurmd, upgrade) = match (soak.spares_slurmd(), &soak.builds) {
        (true, _) => (100, 100),
        (false, None) => (100 - daemons, 100),
        (false, Some(_)) => (100 - 2 * daemons, 100 - daemons),
    };
    let slurmctld = slurmd - soak.daemons.unwrap_or(0);
    match random.u32(0..100) {
        0..40 => {
            let tasks = find(&task(), &format!("{folder}/cores"));
            if kill_one(random, &tasks) {
                count(&counts.tasks_killed);
            }
        }
        40..65 => {
            let steps = soak.steps();
            if let Some(step) = random.choice(&steps) {
                // It tries again and again while slurmctld cannot alter the job.
                let patient = ["--preserve-status", SCANCEL, "scancel", step];
                soak.cluster.run("timeout", &patient);
                count(&counts.steps_killed);
            }
        }
        draw if draw < slurmctld => {
            let stepds = find("slurmstepd", &folder);
            if kill_one(random, &stepds) {
                count(&counts.stepds_killed);
            }
        }
        draw if draw < slurmd => {
            if kill_one(random, &find("slurmctld", &folder)) {
                count(&counts.slurmctlds_killed);
                std::thread::sleep(Duration::from_millis(random.u64(0..500)));
                soak.cluster.restart_slurmctld();
            }
        }
        draw if draw < upgrade => {
            if kill_one(random, &find("slurmd", &folder)) {
                count(&counts.slurmds_killed);
                std::thread::sleep(Duration::from_millis(random.u64(0..500)));
                soak.cluster.restart_slurmd();
            }
        }
        _ => upgrade::one(soak, random),
    }
}
