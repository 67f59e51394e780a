//! How a job goes that is cancelled, wholly below a busy pool.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::job::{self, Job, start};
use crate::scenes::Scene;
use crate::shares::{Beside, fill};
use crate::thread::threads;
use crate::{Here, Told, daemons, figures};

/// `SCHED_RR`.
pub(crate) const RR: u32 = 2;
/// The tasks of a job below a pool are gone within this time, or twice as long on a host without enough cores. Its
/// slurmstepd and Slurm's record of it go within this time beyond what they take beside no pool: on an emulated machine,
/// whose CPUs have a fraction of the time that they show, that alone is seconds.
const CANCELLED: Duration = Duration::from_secs(10);
/// Nobody is waited for any longer.
const NEVER: Duration = Duration::from_secs(200);
/// What is gone within this time was not looked at.
const UNSEEN: Duration = Duration::from_secs(2);

pub(crate) const SCENES: &[Scene] = &[
    Scene::new("scancel", cancelled),
    Scene::new("scancel without a launch", without_launch),
    Scene::new("scancel while somebody looks", looked_at),
];
/// Whoever ends while he is looked at does not always meet his slurmstepd at the same moment.
const ROUNDS: u32 = 6;
/// A job on an otherwise quiet node is gone within this time, or this time on a host without enough cores.
const GONE: [Duration; 2] = [Duration::from_secs(10), Duration::from_secs(20)];

/// How a job went.
pub(crate) struct Gone {
    /// Until Slurm's record of it had gone.
    took: Duration,
    /// Until its tasks had gone.
    tasks: Duration,
    /// Until its tasks and its slurmstepd had gone.
    processes: Duration,
    /// Whether a thread of its slurmstepd was seen that went before the pool's tasks.
    first: bool,
}

/// A normal job wholly below a busy pool.
fn cancelled(here: &Here) -> Told {
    let normal = fill(here, Beside::Serial)?;
    // The one on the last CPU has no pool there: how long this emulated machine takes by itself.
    let last = normal.iter().max_by_key(|job| job.cpus());
    let before = cancel(here, last.ok_or("there are no normal jobs")?)?;
    let pool = start(&here.cluster, &["-pmulti8"], ("spin", here.pool, 1))?;
    let own = pool.cpus();
    // One that has gone has no CPU.
    let is_below = |job: &&Job| job.cpus().first().is_some_and(|cpu| own.contains(cpu));
    let below = normal.iter().find(is_below);
    let below = below.ok_or("no normal job is on the pool's CPUs")?;
    let gone = cancel(here, below)?;
    judge(here, "scancel", [&gone, &before])
}

/// slurmd is started again as systemd does it, and launches nothing before a job below a pool is cancelled.
fn without_launch(here: &Here) -> Told {
    let begin = |role, threads| start(&here.cluster, &["-pnormal"], (role, 1, threads));
    // Slurm begins at the lowest CPU for both, and gives a pool job free ones where there are some.
    let normal = begin("spin", 2)?;
    let others = (1..here.cpus).map(|_| begin("half", 1));
    let others: Vec<_> = others.collect::<Result<_, _>>()?;
    let pool = start(&here.cluster, &["-pmulti8"], ("spin", here.pool, 1))?;
    let own = pool.cpus();
    let is_below = |job: &Job| job.cpus().iter().all(|cpu| own.contains(cpu));
    let free = others.iter().find(|job| !is_below(job));
    cancel(here, free.ok_or("every job is below the pool")?)?;
    let beside = begin("spin", 2)?;
    if !is_below(&normal) || is_below(&beside) {
        return Err(format!(
            "the pool has {own:?}, the normal jobs {:?} and {:?}",
            normal.cpus(),
            beside.cpus()
        ));
    }
    let before = cancel(here, &beside)?;
    let slurmd = daemons::in_foreground(here)?;
    let gone = cancel(here, &normal);
    // Its usual slurmd begins with a launch, which is quick on a node without a busy pool.
    job::end_all(&here.cluster);
    slurmd.end();
    judge(here, "scancel-without-launch", [&gone?, &before])
}

/// A serial normal job, of whose threads somebody has read in `/proc`, as monitors do. What the kernel keeps of that goes when
/// the threads go, and a slurmstepd that collects them waits for it busily, on their CPU.
fn looked_at(here: &Here) -> Told {
    let mut last = Duration::ZERO;
    for _ in 0..ROUNDS {
        let mut normal = start(&here.cluster, &["-pnormal"], ("spin", 1, 1))?;
        let all = threads(&normal.processes());
        if all.len() < 2 {
            return Err(format!("{} threads were seen", all.len()));
        }
        normal.is_left();
        last = last.max(cancel(here, &normal)?.processes);
    }
    let most = here.host.bound(GONE[0], GONE[1]);
    println!("  the last of {ROUNDS} slurmstepds went after {last:.1?}");
    match last <= most {
        true => Ok(()),
        false => Err(format!("a slurmstepd took longer than {most:?}")),
    }
}

fn judge(here: &Here, name: &str, [gone, before]: [&Gone; 2]) -> Told {
    println!(
        "  its tasks went after {:.2?}, beside no pool after {:.2?}; its slurmstepd after {:.2?} and {:.2?}; Slurm's \
         record after {:.2?} and {:.2?}",
        gone.tasks, before.tasks, gone.processes, before.processes, gone.took, before.took
    );
    let seconds = [gone.took, before.took, gone.processes, before.processes];
    let seconds = seconds.map(|time| format!("{:.2}", time.as_secs_f64()));
    figures::add(&[name, here.class, &seconds.join(" ")]);
    // One that never waited needs nothing.
    if !gone.first && gone.took > UNSEEN {
        return Err("its slurmstepd did not go first".into());
    }
    let most = CANCELLED.mul_f64(here.host.bound(1.0, 2.0));
    if gone.tasks > most {
        return Err(format!("its tasks took longer than {most:?}"));
    }
    let is_late = gone.processes > before.processes + CANCELLED;
    match is_late || gone.took > before.took + CANCELLED {
        false => Ok(()),
        true => Err(format!(
            "its slurmstepd or Slurm's record took {CANCELLED:?} longer than beside no pool"
        )),
    }
}

/// Cancels a job, and waits until it is gone. Prints when its tasks, its slurmstepd and Slurm's record of it went.
///
/// # Errors
/// It has no task or no slurmstepd, so nothing could be seen to go.
pub(crate) fn cancel(here: &Here, job: &Job) -> Result<Gone, String> {
    let tasks = job.processes();
    let stepd: Result<u32, _> = job.slurmstepd().parse();
    let (Ok(stepd), false) = (stepd, tasks.is_empty()) else {
        return Err(format!("job {} does not run", job.id));
    };
    let since = Instant::now();
    let watched = std::thread::spawn(move || {
        let mut first = false;
        let mut gone = |all: &[u32]| {
            while all.iter().any(lives) && since.elapsed() < NEVER {
                first |= goes_first(&[stepd]);
                std::thread::sleep(Duration::from_millis(100));
            }
            since.elapsed()
        };
        let all = (gone(&tasks), gone(&[stepd]));
        (all, first)
    });
    here.cluster.run("scancel", &[&job.id]).expect_ok();
    let sent = since.elapsed();
    here.cluster.wait_for("the cancelled job", || {
        let left = here.cluster.run("squeue", &["-h", "-j", &job.id]).stdout;
        left.trim().is_empty().then_some(())
    });
    let took = since.elapsed();
    let ((tasks, processes), first) = watched.join().expect("a thread");
    println!(
        "  scancel returned after {sent:.2?}, tasks gone after {tasks:.2?}, slurmstepd after {processes:.2?}{}, \
         Slurm's record after {took:.2?}",
        if first { " (it went first)" } else { "" }
    );
    Ok(Gone {
        took,
        tasks,
        processes,
        first,
    })
}

/// Whether a process is there.
pub(crate) fn lives(pid: &u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// Whether a thread of these slurmstepds goes before a pool's tasks.
pub(crate) fn goes_first(stepds: &[u32]) -> bool {
    threads(stepds).iter().any(|thread| thread.policy == RR)
}
