//! A job on each CPU, and all end at once: a node whose daemons have most to do, just when no pool job is left.

use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use crate::cancel::{cancel, lives};
use crate::job::{self, Job, start};
use crate::scenes::Scene;
use crate::shares::{Beside, fill};
use crate::thread::threads;
use crate::{Here, Told};

/// All have ended within this time, or this time on a host without enough cores: half of what Slurm waits before it drains
/// a node.
const ENDED: [Duration; 2] = [Duration::from_secs(15), Duration::from_secs(30)];
/// Nobody is waited for any longer.
const NEVER: Duration = Duration::from_secs(200);

pub(crate) const SCENES: &[Scene] = &[Scene::new("all at once", all_at_once)];

/// Serial normal jobs that were below a pool, whose sruns are killed before Slurm is told.
fn all_at_once(here: &Here) -> Told {
    let normal = fill(here, Beside::Serial)?;
    let pool = start(&here.cluster, &["-pmulti8"], ("spin", here.pool, 1))?;
    cancel(here, &pool)?;
    let tasks: Vec<_> = normal.iter().flat_map(Job::processes).collect();
    let stepds = normal.iter().map(|job| job.slurmstepd().parse());
    let Ok(stepds) = stepds.collect::<Result<Vec<u32>, _>>() else {
        return Err("a job has no slurmstepd, so nothing could be seen to go".into());
    };
    if tasks.len() < here.cpus as usize {
        return Err(format!("{} jobs have {} tasks", here.cpus, tasks.len()));
    }
    // As monitors do: what the kernel keeps of that has to go with the threads.
    threads(&tasks);
    let since = Instant::now();
    let watched = spawn(move || [tasks, stepds].map(|all| gone(all, since)));
    drop(normal);
    job::end_all(&here.cluster);
    let records = since.elapsed();
    let [tasks, stepds] = watched.join().expect("a thread");
    println!(
        "  {} jobs that end at once: the last task went after {tasks:.1?}, the last slurmstepd after {stepds:.1?}, Slurm's \
         records after {records:.1?}",
        here.cpus
    );
    let most = here.host.bound(ENDED[0], ENDED[1]);
    match stepds <= most {
        true => Ok(()),
        false => Err(format!("they took longer than {most:?}")),
    }
}

/// When the last of them had gone.
fn gone(all: Vec<u32>, since: Instant) -> Duration {
    while all.iter().any(lives) && since.elapsed() < NEVER {
        sleep(Duration::from_millis(200));
    }
    since.elapsed()
}
