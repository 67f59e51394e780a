//! What a class promises beside CPU time: real-time tasks stay behind their fence, normal jobs can be cancelled, a
//! node with full pools answers, and how soon a task that sleeps is woken.

use std::fs;
use std::time::{Duration, Instant};

use crate::job::{Job, start, threads};
use crate::shares::{Beside, fill};
use crate::{Count, Here, OTHERS, POOL, Told};

/// `SCHED_RR` and `SCHED_OTHER`.
const RR: u32 = 2;
/// A job below a pool is gone within this time beyond what it takes without one.
const CANCELLED: Duration = Duration::from_secs(10);

pub(crate) fn all(here: &Here, count: &mut Count) {
    count.play(here, "behind its fence", || fenced(here));
    count.play(here, "scancel", || cancelled(here));
    count.play(here, "full pools", || full(here));
    count.play(here, "wake-up", || woken(here, "-pmulti8"));
    if here.class == "weight" {
        count.play(here, "wake-up beside no pool", || woken(here, "-pnormal"));
    }
    count.play(here, "kept by steps and suspension", || kept(here));
}

/// A task that widens its affinity, asks for a higher priority, forks and leaves its session.
fn fenced(here: &Here) -> Told {
    let job = start(&here.cluster, &["-pmulti8", "-c2"], ("escape", 1, 4))?;
    let own = job.cpus();
    let all = threads(&job.processes());
    println!("  job on {own:?}: {all:?}");
    let outside = all
        .iter()
        .find(|thread| thread.cpus.iter().any(|cpu| !own.contains(cpu)));
    let wanted = if here.class == "realtime" { RR } else { 0 };
    // The program, and five threads of the one that left.
    if all.len() < 6 || outside.is_some() || all.iter().any(|thread| thread.policy != wanted) {
        return Err(format!(
            "policy {wanted} on {own:?} was expected of each thread"
        ));
    }
    let higher = fs::read_to_string(job.told.join("higher")).unwrap_or_default();
    // The experiment runs as root, who has CAP_SYS_NICE; the hostile client has not.
    println!("  a higher priority as root: {higher}");
    Ok(())
}

/// A normal job wholly below a busy pool.
fn cancelled(here: &Here) -> Told {
    let normal = fill(here, Beside::Serial)?;
    // The last one has no pool on its CPU: how long this emulated machine takes by itself.
    let before = normal
        .last()
        .map_or(Duration::ZERO, |job| cancel(here, job));
    let pool = start(&here.cluster, &["-pmulti8"], ("spin", here.cpus / 2, 1))?;
    let own = pool.cpus();
    let below = normal.iter().find(|job| own.contains(&job.cpus()[0]));
    let below = below.ok_or("no normal job is on the pool's CPUs")?;
    let took = cancel(here, below);
    println!("  scancel took {took:.2?}, beside no pool {before:.2?}");
    match took <= before + CANCELLED {
        true => Ok(()),
        false => Err(format!("longer than {CANCELLED:?}")),
    }
}

/// Cancels a job, and waits until it is gone. Prints when its tasks, its slurmstepd and Slurm's record of it went.
fn cancel(here: &Here, job: &Job) -> Duration {
    let (tasks, stepd) = (job.processes(), job.slurmstepd());
    let lives = |pid: &str| std::path::Path::new(&format!("/proc/{pid}")).exists();
    let since = Instant::now();
    let watched = std::thread::spawn(move || {
        let gone = |is: &dyn Fn() -> bool| {
            while is() && since.elapsed() < CANCELLED * 20 {
                std::thread::sleep(Duration::from_millis(100));
            }
            since.elapsed()
        };
        let tasks = gone(&|| tasks.iter().any(|pid| lives(&pid.to_string())));
        (tasks, gone(&|| lives(&stepd)))
    });
    here.cluster.run("scancel", &[&job.id]).expect_ok();
    let sent = since.elapsed();
    here.cluster.wait_for("the cancelled job", || {
        let left = here.cluster.run("squeue", &["-h", "-j", &job.id]).stdout;
        left.trim().is_empty().then_some(())
    });
    let took = since.elapsed();
    let (tasks, stepd) = watched.join().expect("a thread");
    println!(
        "  scancel returned after {sent:.2?}, tasks gone after {tasks:.2?}, slurmstepd after {stepd:.2?}, \
         Slurm's record after {took:.2?}"
    );
    took
}

/// As much as the pools may own is busy, and everything else too.
fn full(here: &Here) -> Told {
    let _normal = fill(here, Beside::Wide)?;
    let most = (here.cpus - 1).min(POOL);
    let first = start(&here.cluster, &["-pmulti8"], ("spin", most, 1))?;
    let policies: Vec<_> = threads(&first.processes())
        .iter()
        .map(|thread| thread.policy)
        .collect();
    let since = Instant::now();
    here.cluster.scontrol(&["ping"]).expect_ok();
    let ping = since.elapsed();
    let since = Instant::now();
    // The last core is the reserve: a pool job there is a normal one.
    let done = here.cluster.srun(&["-pmulti8", "-n1", "true"]);
    let took = since.elapsed();
    println!("  {most} CPUs of pools: scontrol ping {ping:.2?}, a bystander's srun {took:.2?}");
    if !done.ok() || !done.stderr.contains("runs as a normal job") {
        return Err(format!("{done:#?}"));
    }
    match (
        ping < Duration::from_secs(10),
        took < Duration::from_secs(60),
    ) {
        (true, true) => Ok(()),
        _ => Err(format!(
            "the node does not answer; policies of the pool {policies:?}"
        )),
    }
}

/// A task that sleeps for moments, while everything else is busy.
fn woken(here: &Here, partition: &str) -> Told {
    let _normal = match partition {
        // Beside no pool: normal jobs of the other partition share with it.
        "-pnormal" => vec![start(
            &here.cluster,
            &["-pmulti8", "--pool=none"],
            ("spin", here.cpus, 2),
        )?],
        _ => fill(here, Beside::Wide)?,
    };
    let job = start(&here.cluster, &[partition], ("wake", 1, 1))?;
    let late = here.cluster.wait_for("the wake-ups", || {
        let text = fs::read_to_string(job.told.join("late")).ok()?;
        text.ends_with('\n').then_some(text)
    });
    println!(
        "  late by microseconds at 50, 90, 99, 100 %: {}",
        late.trim()
    );
    Ok(())
}

/// Other steps, children of a script, and suspension leave the job what it has.
fn kept(here: &Here) -> Told {
    let normal = start(&here.cluster, &["-pnormal"], ("spin", 1, 1))?;
    let job = start(&here.cluster, &["-pmulti8", "-c2"], ("spin", 1, 2))?;
    let cluster = &here.cluster;
    let id = format!("--jobid={}", job.id);
    let is = |job: &Job| {
        (
            job.weight(),
            job.is_idle(),
            threads(&job.processes()).iter().map(|one| one.policy).max(),
        )
    };
    let before = (is(&job), is(&normal));
    cluster.srun(&[&id, "--overlap", "-n1", "true"]).expect_ok();
    let after_step = (is(&job), is(&normal));
    cluster.scontrol(&["suspend", &job.id]).expect_ok();
    cluster.scontrol(&["resume", &job.id]).expect_ok();
    let after_resume = (is(&job), is(&normal));
    cluster.restart_slurmd();
    cluster.wait_for("slurmd", || (cluster.sinfo_state() != "down").then_some(()));
    cluster.srun(&[&id, "--overlap", "-n1", "true"]).expect_ok();
    let after_restart = (is(&job), is(&normal));
    let all = [before, after_step, after_resume, after_restart];
    println!("  weight, idle, policy of the pool's and of the normal job: {all:?}");
    let policy = Some(if here.class == "realtime" { RR } else { 0 });
    let wanted = (
        (10_000 * 2 / POOL, false, policy),
        (OTHERS, here.class != "weight", Some(0)),
    );
    if all.iter().any(|one| *one != wanted) {
        return Err(format!("{wanted:?} was expected each time"));
    }
    // A script's children, a job of an array, and a component of a heterogeneous job.
    let show = "chrt -p $$; grep -h . /sys/fs/cgroup$(sed 's/^0:://;s,/step_.*,,' /proc/self/cgroup)/cpu.weight";
    for options in [&["-pmulti8", "-c2"][..], &["-pmulti8", "-c2", "--array=1"]] {
        let done = cluster.sbatch(options, &format!("({show}) & wait"));
        let weight = (10_000 * 2 / POOL).to_string();
        let is_rr = done.output.contains("SCHED_RR");
        println!("  a script with {options:?}: {:?}", done.output);
        if !done.output.lines().any(|line| line == weight) || is_rr != (here.class == "realtime") {
            return Err(format!("{done:#?}"));
        }
    }
    Ok(())
}
