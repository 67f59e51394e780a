//! `berth-soak [--steps N] [--seed N] [--daemons PERCENT] [--machine SYNTHETIC | --confine cgroup]`: short steps on a real
//! cluster, many at a time and on the same CPUs, with random `--binding`, while tasks, steps, slurmstepds and slurmd
//! are killed; with `--daemons` that many of a hundred kills strike slurmd, and as many slurmctld. Every bound task holds a lock on each of its CPUs, so that the kernel tells at the
//! very moment if two live steps are bound to one. At the end the ledger must be empty. With `--confine`
//! the tasks are fenced too (`confined`).

mod confined;
mod counts;
mod killer;
mod processes;
mod task;
mod work;

use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use berth_tests::{Builder, Cluster, command};

use crate::counts::Counts;
use crate::work::Soak;

/// Steps at a time; an emulated machine takes them slowly, and they mostly wait.
const WORKERS: usize = 24;
const WORKERS_EMULATED: usize = 16;
/// Nothing to be played: this machine has no cpusets that can be made.
const SKIPPED: u8 = 3;
/// What an entry may last that nobody came for: a slurmstepd killed before it could confirm.
const LAST_ENTRIES: Duration = Duration::from_secs(90);

struct Options {
    steps: u64,
    seed: u64,
    daemons: Option<u32>,
    machine: Option<String>,
    confines: bool,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [role, folder, kind] = words.as_slice()
        && role == "task"
    {
        return task::run(folder, kind);
    }
    let Some(options) = options(&words) else {
        eprintln!(
            "usage: berth-soak [--steps N] [--seed N] [--daemons PERCENT] [--machine SYNTHETIC | --confine cgroup]"
        );
        return ExitCode::from(2);
    };
    let Some(cluster) = cluster(&options) else {
        eprintln!("berth-soak: no cgroup with cpusets can be made here");
        return ExitCode::from(SKIPPED);
    };
    let soak = Soak::new(cluster, &options);
    let since = Instant::now();
    run(&soak, options.seed);
    let left = soak.wait_for_empty_ledger(LAST_ENTRIES);
    let took = since.elapsed();
    let mut wrong: Vec<_> = left
        .into_iter()
        .map(|left| format!("the ledger is not empty: {left}"))
        .collect();
    if options.confines {
        wrong.extend(confined::left(&soak));
    }
    finish(&soak, &wrong, took)
}

/// The cluster; none if its cgroups cannot be made here.
fn cluster(options: &Options) -> Option<Cluster> {
    let up = |builder: Builder| {
        let builder = builder
            .set("PartitionName=main Nodes=ALL Default=YES OverSubscribe=FORCE:64")
            // What a killed slurmstepd leaves behind is found soon.
            .set("UnkillableStepTimeout=10")
            .set("KillWait=1")
            // An srun that was killed while slurmctld was away cannot end its job.
            .set("InactiveLimit=20");
        match &options.machine {
            Some(machine) => builder.env("HWLOC_SYNTHETIC", machine).up(),
            None => builder.up(),
        }
    };
    match options.confines {
        true => Some(confined::cluster(confined::version()?, up)),
        false => Some(up(Cluster::builder().plugstack(Some("")))),
    }
}

fn options(words: &[String]) -> Option<Options> {
    let mut options = Options {
        steps: 20_000,
        seed: 1,
        daemons: None,
        machine: None,
        confines: false,
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let value = words.next()?;
        match word.as_str() {
            "--steps" => options.steps = value.parse().ok()?,
            "--seed" => options.seed = value.parse().ok()?,
            "--daemons" => options.daemons = Some(value.parse().ok().filter(|some| *some <= 25)?),
            "--machine" => options.machine = Some(value.clone()),
            "--confine" if value == "cgroup" => options.confines = true,
            _ => return None,
        }
    }
    let is_one = options.machine.is_none() || !options.confines;
    is_one.then_some(options)
}

fn run(soak: &Soak, seed: u64) {
    std::thread::scope(|scope| {
        let workers = match soak.is_emulated {
            true => WORKERS_EMULATED,
            false => WORKERS,
        };
        let workers: Vec<_> = (0..workers)
            .map(|worker| scope.spawn(move || soak.work(seed * 1000 + worker as u64)))
            .collect();
        let killer = scope.spawn(move || killer::run(soak, seed));
        let suspender = soak
            .confines
            .then(|| scope.spawn(move || confined::suspend(soak, seed)));
        for worker in workers {
            worker.join().expect("a worker does not fail");
        }
        soak.done.store(true, Ordering::Relaxed);
        killer.join().expect("the killer does not fail");
        if let Some(suspender) = suspender {
            suspender.join().expect("the suspender does not fail");
        }
    });
}

fn finish(soak: &Soak, wrong: &[String], took: Duration) -> ExitCode {
    let Counts { steps, .. } = &soak.counts;
    println!(
        "{} steps in {:.0} s ({:.0} a second): {}",
        steps.load(Ordering::Relaxed),
        took.as_secs_f64(),
        steps.load(Ordering::Relaxed) as f64 / took.as_secs_f64(),
        soak.counts
    );
    let told = soak.told_by_tasks();
    println!("{told}");
    for wrong in wrong {
        println!("FAIL {wrong}\n(see {})", command().display());
    }
    match wrong.is_empty() && told.is_well() {
        true => ExitCode::SUCCESS,
        false => {
            soak.keep_logs();
            ExitCode::FAILURE
        }
    }
}
