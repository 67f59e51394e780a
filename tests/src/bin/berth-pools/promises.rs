//! What a class promises beside CPU time: real-time tasks stay behind their fence, normal jobs can be cancelled, a
//! node with full pools answers, and how soon a task that sleeps is woken.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use berth_tests::Cluster;

use crate::job::{Job, start, threads};
use crate::shares::{Beside, fill};
use crate::{Count, Here, Told, fences, figures};

/// `SCHED_RR` and `SCHED_OTHER`.
pub(crate) const RR: u32 = 2;
/// A job below a pool is gone within this time beyond what it takes without one.
const CANCELLED: Duration = Duration::from_secs(10);
/// What is gone within this time was not looked at.
const UNSEEN: Duration = Duration::from_secs(2);
/// So long a slurmd may take to start itself again.
const RECONFIGURED: Duration = Duration::from_secs(10);
/// Every slurmd has looked at its files within this time.
const LOOKED: Duration = Duration::from_secs(10);
/// Half of a pool's wake-ups beside a busy job come within this time.
const WOKEN: Duration = Duration::from_millis(1);
/// A node with full pools answers within so many times what it takes without.
const SLOWER: f64 = 2.0;

pub(crate) fn all(here: &Here, count: &mut Count) {
    count.play(here, "behind its fence", || fences::kept(here));
    if here.class == "realtime" {
        count.play(here, "a user's bounds", || fences::users(here));
        count.play(here, "out of its job", || fences::left(here));
    }
    count.play(here, "scancel", || cancelled(here));
    count.play(here, "full pools", || full(here));
    count.play(here, "wake-up", || woken(here, true));
    if here.class == "weight" {
        count.play(here, "wake-up beside no pool", || woken(here, false));
    }
    count.play(here, "kept by steps and suspension", || kept(here));
    count.play(here, "heterogeneous job", || heterogeneous(here));
}

/// A normal job wholly below a busy pool.
fn cancelled(here: &Here) -> Told {
    let normal = fill(here, Beside::Serial)?;
    // The one on the last CPU has no pool there: how long this emulated machine takes by itself.
    let before = normal
        .iter()
        .max_by_key(|job| job.cpus())
        .map_or(Duration::ZERO, |job| cancel(here, job).took);
    let pool = start(&here.cluster, &["-pmulti8"], ("spin", here.pool, 1))?;
    let own = pool.cpus();
    // One that has gone has no CPU.
    let is_below = |job: &&Job| job.cpus().first().is_some_and(|cpu| own.contains(cpu));
    let below = normal.iter().find(is_below);
    let below = below.ok_or("no normal job is on the pool's CPUs")?;
    let Gone { took, first } = cancel(here, below);
    println!("  scancel took {took:.2?}, beside no pool {before:.2?}");
    let seconds = [took, before].map(|time| format!("{:.2}", time.as_secs_f64()));
    figures::add(&["scancel", here.class, &seconds[0], &seconds[1]]);
    match (first, took <= before + CANCELLED) {
        // One that never waited needs nothing.
        (false, _) if took > UNSEEN => Err("its slurmstepd did not go first".into()),
        (_, false) => Err(format!("longer than {CANCELLED:?}")),
        _ => Ok(()),
    }
}

/// How a job went.
pub(crate) struct Gone {
    took: Duration,
    /// Whether a thread of its slurmstepd was seen that went before the pool's tasks.
    first: bool,
}

/// Cancels a job, and waits until it is gone. Prints when its tasks, its slurmstepd and Slurm's record of it went.
pub(crate) fn cancel(here: &Here, job: &Job) -> Gone {
    let (tasks, stepd) = (job.processes(), job.slurmstepd());
    let lives = |pid: &u32| std::path::Path::new(&format!("/proc/{pid}")).exists();
    let since = Instant::now();
    let watched = std::thread::spawn(move || {
        let (stepd, mut first) = ([stepd.parse().unwrap_or_default()], false);
        let mut gone = |all: &[u32]| {
            while all.iter().any(lives) && since.elapsed() < CANCELLED * 20 {
                first |= threads(&stepd).iter().any(|thread| thread.policy == RR);
                std::thread::sleep(Duration::from_millis(100));
            }
            since.elapsed()
        };
        let all = (gone(&tasks), gone(&stepd));
        (all, first)
    });
    here.cluster.run("scancel", &[&job.id]).expect_ok();
    let sent = since.elapsed();
    here.cluster.wait_for("the cancelled job", || {
        let left = here.cluster.run("squeue", &["-h", "-j", &job.id]).stdout;
        left.trim().is_empty().then_some(())
    });
    let took = since.elapsed();
    let ((tasks, stepd), first) = watched.join().expect("a thread");
    println!(
        "  scancel returned after {sent:.2?}, tasks gone after {tasks:.2?}, slurmstepd after {stepd:.2?}{}, \
         Slurm's record after {took:.2?}",
        if first { " (it went first)" } else { "" }
    );
    Gone { took, first }
}

/// As much as the pools may own is busy, and everything else too: how soon the node answers, beside the same load
/// without a pool.
fn full(here: &Here) -> Told {
    let _normal = fill(here, Beside::Wide)?;
    let most = (here.cpus - 1).to_string();
    // The example's limit is for its own machine.
    let unlimited = ["update", "PartitionName=multi8", "MaxCPUsPerNode=UNLIMITED"];
    here.cluster.scontrol(&unlimited).expect_ok();
    here.write(here.cpus);
    let measured = || -> Result<[[f64; 3]; 2], String> {
        let told = |is_pool: bool| {
            let words = ["-pmulti8", "--pool=none"];
            let words = if is_pool { &words[..1] } else { &words[..] };
            let job = start(&here.cluster, words, ("spin", here.cpus - 1, 1))?;
            let answers = answers(here, is_pool)?;
            cancel(here, &job);
            Ok::<_, String>(answers)
        };
        Ok([told(false)?, told(true)?])
    };
    let measured = measured();
    here.write(here.pool);
    let [without, with] = measured?;
    let names = ["scontrol-ping", "login-shell", "srun"];
    let mut told = Ok(());
    for ((name, without), with) in names.iter().zip(without).zip(with) {
        println!("  {most} CPUs of pools: {name} {with:.2} s, beside no pool {without:.2} s");
        figures::add(&[
            "full",
            here.class,
            name,
            &format!("{with:.3}"),
            &format!("{without:.3}"),
        ]);
        // Below real-time tasks the figure is only printed.
        if here.class != "realtime" && with > without * SLOWER {
            told = Err(format!(
                "{name} takes {with:.2} s, beside no pool {without:.2} s"
            ));
        }
    }
    told
}

/// The time of `scontrol ping`, of a login shell, and of a bystander's srun: the middle one of three each, in seconds.
fn answers(here: &Here, is_pool: bool) -> Result<[f64; 3], String> {
    let middle = |one: &dyn Fn() -> Told| -> Result<f64, String> {
        let mut all = Vec::new();
        for _ in 0..3 {
            let since = Instant::now();
            one()?;
            all.push(since.elapsed().as_secs_f64());
        }
        all.sort_by(f64::total_cmp);
        Ok(all[1])
    };
    let ping = || {
        here.cluster.scontrol(&["ping"]).expect_ok();
        Ok(())
    };
    let shell = || {
        let done = Command::new("sh").args(["-lc", "/bin/true; exit"]).status();
        match done.is_ok_and(|done| done.success()) {
            true => Ok(()),
            false => Err("no login shell".to_owned()),
        }
    };
    // The last core is the reserve: a pool job there is a normal one.
    let srun = || {
        let done = here.cluster.srun(&["-pmulti8", "-n1", "true"]);
        match done.ok() && (!is_pool || done.stderr.contains("runs as a normal job")) {
            true => Ok(()),
            false => Err(format!("{done:#?}")),
        }
    };
    Ok([middle(&ping)?, middle(&shell)?, middle(&srun)?])
}

/// A task that sleeps for moments, on a CPU on which a normal job has two busy threads. The machine's other CPUs are
/// idle: an emulated CPU waits for each other one that is busy.
fn woken(here: &Here, is_pool: bool) -> Told {
    let _normal = start(&here.cluster, &["-pnormal"], ("spin", 1, 2))?;
    let words = ["-pmulti8", "--pool=none"];
    let words = if is_pool { &words[..1] } else { &words[..] };
    let job = start(&here.cluster, words, ("wake", 1, 1))?;
    let late = here.cluster.wait_for("the wake-ups", || {
        let text = fs::read_to_string(job.told.join("late")).ok()?;
        text.ends_with('\n').then_some(text)
    });
    println!(
        "  late by microseconds, least, 50, 90, 99, 100 %: {}",
        late.trim()
    );
    let class = if is_pool { here.class } else { "none" };
    figures::add(&["late", class, late.trim()]);
    let middle = late.split_whitespace().nth(1);
    let middle = middle.and_then(|text| text.parse::<u128>().ok());
    match middle.ok_or("no wake-ups")? {
        late if here.class == "weight" && has_eevdf() && late > WOKEN.as_micros() => {
            Err(format!("half of them come later than {WOKEN:?}"))
        }
        _ => Ok(()),
    }
}

/// Whether this kernel chooses by deadlines: from 6.6 on.
fn has_eevdf() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split('.').map(|text| text.parse::<u32>().ok());
    let mut next = || numbers.next().flatten();
    next().zip(next()) >= Some((6, 6))
}

/// Other steps, children of a script, suspension, and another file leave the job what it has.
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
    let both = || (is(&job), is(&normal));
    let step = || cluster.srun(&[&id, "--overlap", "-n1", "true"]).expect_ok();
    let mut all = vec![both()];
    step();
    all.push(both());
    cluster.scontrol(&["suspend", &job.id]).expect_ok();
    cluster.scontrol(&["resume", &job.id]).expect_ok();
    all.push(both());
    cluster.restart_slurmd();
    cluster.wait_for("slurmd", || (cluster.sinfo_state() != "down").then_some(()));
    step();
    all.push(both());
    cluster.scontrol(&["reconfigure"]).expect_ok();
    // Newer slurmds start themselves again then, and Slurm loses a launch that comes meanwhile.
    std::thread::sleep(RECONFIGURED);
    step();
    all.push(both());
    println!("  weight, idle, policy of the pool's and of the normal job: {all:?}");
    let policy = Some(if here.class == "realtime" { RR } else { 0 });
    let wanted = (
        (here.weight_of(2), false, policy),
        (here.others(), here.class != "weight", Some(0)),
    );
    if all.iter().any(|one| *one != wanted) {
        return Err(format!("{wanted:?} was expected each time"));
    }
    changed(here, &job, &step)?;
    shown(here)
}

/// A pool that is twice as wide has other weights: from each job's next step on.
fn changed(here: &Here, job: &Job, step: &dyn Fn() -> String) -> Told {
    here.write(here.pool * 2);
    let before = job.weight();
    step();
    let with = job.weight();
    here.write(here.pool);
    step();
    let all = [before, with, job.weight()];
    println!("  another file: weights {all:?}");
    let own = here.weight_of(2);
    match all == [own, own / 2, own] {
        true => Ok(()),
        false => Err(format!("{:?} were expected", [own, own / 2, own])),
    }
}

/// Prints its policy and its job's weight.
const SHOW: &str = "chrt -p $$; grep -h . /sys/fs/cgroup$(sed 's/^0:://;s,/step_.*,,' /proc/self/cgroup)/cpu.weight";

/// Whether such lines are those of a pool job of two CPUs.
fn is_of_pool(here: &Here, output: &str) -> bool {
    let weight = here.weight_of(2).to_string();
    let is_rr = output.contains("SCHED_RR");
    output.lines().any(|line| line.ends_with(&weight)) && is_rr == (here.class == "realtime")
}

/// A script's children, and a job of an array.
fn shown(here: &Here) -> Told {
    for options in [&["-pmulti8", "-c2"][..], &["-pmulti8", "-c2", "--array=1"]] {
        let done = here.cluster.sbatch(options, &format!("({SHOW}) & wait"));
        println!("  a script with {options:?}: {:?}", done.output);
        if !is_of_pool(here, &done.output) {
            return Err(format!("{done:#?}"));
        }
    }
    Ok(())
}

/// The components of a heterogeneous job, one of them in the pool. Slurm puts no two on one node.
fn heterogeneous(here: &Here) -> Told {
    let cluster = Cluster::builder()
        .example("pools")
        .nodes(2)
        .set("SchedulerParameters=batch_sched_delay=0,bf_hetjob_immediate,bf_interval=1")
        .up();
    let mut there = Here { cluster, ..*here };
    // Each slurmd begins to look at its file with its first launch.
    let everywhere = ["-pnormal", "-N2", "true"];
    there.cluster.srun(&everywhere).expect_ok();
    there.put(here.class);
    std::thread::sleep(LOOKED);
    let first = ["-l", "-t5", "-pmulti8", "-n1", "-c2", "sh", "-c", SHOW, ":"];
    let second = ["-t5", "-pnormal", "-n1", "sh", "-c", SHOW];
    let done = there.cluster.srun(&[&first[..], &second].concat());
    println!("  a heterogeneous job: {:?}", done.stdout);
    let of = |rank: &str| -> String {
        let lines = done.stdout.lines().filter(|line| line.starts_with(rank));
        lines.map(|line| format!("{line}\n")).collect()
    };
    let others = format!(" {}", there.others());
    let normal = of("1:");
    let is_normal =
        normal.lines().any(|line| line.ends_with(&others)) && !normal.contains("SCHED_RR");
    match done.ok() && is_of_pool(&there, &of("0:")) && is_normal {
        true => Ok(()),
        false => Err(format!("{done:#?}")),
    }
}
