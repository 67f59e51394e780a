//! `berth-soak [--steps N] [--seed N] [--machine SYNTHETIC]`: short steps on a real cluster, many at
//! a time and on the same CPUs, with random `--binding`, while tasks, steps, slurmstepds and slurmd
//! are killed. Every bound task holds a lock on each of its CPUs, so that the kernel tells at the
//! very moment if two live steps are bound to one. At the end the ledger must be empty.

mod counts;
mod killer;
mod processes;
mod task;
mod work;

use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use berth_tests::{Cluster, command};

use crate::counts::Counts;
use crate::work::Soak;

/// Steps at a time.
const WORKERS: usize = 24;
/// What an entry may last that nobody came for: a slurmstepd killed before it could confirm.
const LAST_ENTRIES: Duration = Duration::from_secs(90);

struct Options {
    steps: u64,
    seed: u64,
    machine: Option<String>,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [role, folder, kind] = words.as_slice()
        && role == "task"
    {
        return task::run(folder, kind);
    }
    let Some(options) = options(&words) else {
        eprintln!("usage: berth-soak [--steps N] [--seed N] [--machine SYNTHETIC]");
        return ExitCode::from(2);
    };
    let mut builder = Cluster::builder()
        .plugstack(Some(""))
        .set("PartitionName=main Nodes=ALL Default=YES OverSubscribe=FORCE:64")
        // What a killed slurmstepd leaves behind is found soon.
        .set("UnkillableStepTimeout=10")
        .set("KillWait=1");
    if let Some(machine) = &options.machine {
        builder = builder.env("HWLOC_SYNTHETIC", machine);
    }
    let soak = Soak::new(builder.up(), options.steps, options.machine.is_some());
    let since = Instant::now();
    run(&soak, options.seed);
    let left = soak.wait_for_empty_ledger(LAST_ENTRIES);
    finish(&soak, left, since.elapsed())
}

fn options(words: &[String]) -> Option<Options> {
    let mut options = Options {
        steps: 20_000,
        seed: 1,
        machine: None,
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let value = words.next()?;
        match word.as_str() {
            "--steps" => options.steps = value.parse().ok()?,
            "--seed" => options.seed = value.parse().ok()?,
            "--machine" => options.machine = Some(value.clone()),
            _ => return None,
        }
    }
    Some(options)
}

fn run(soak: &Soak, seed: u64) {
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS)
            .map(|worker| scope.spawn(move || soak.work(seed * 1000 + worker as u64)))
            .collect();
        let killer = scope.spawn(move || killer::run(soak, seed));
        for worker in workers {
            worker.join().expect("a worker does not fail");
        }
        soak.done.store(true, Ordering::Relaxed);
        killer.join().expect("the killer does not fail");
    });
}

fn finish(soak: &Soak, left: Option<String>, took: Duration) -> ExitCode {
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
    if let Some(left) = &left {
        println!(
            "the ledger is not empty: {left}\n(see {})",
            command().display()
        );
    }
    match left.is_none() && told.is_well() {
        true => ExitCode::SUCCESS,
        false => {
            soak.keep_logs();
            ExitCode::FAILURE
        }
    }
}
