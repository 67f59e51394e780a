//! `berth-soak [option …]` (see `options`): short steps on a real cluster, many at a time and on the same CPUs, with
//! random `--binding`, while tasks, steps, slurmstepds and daemons are killed, the object is upgraded, and CPUs go off
//! and on. Every bound task holds a lock on each of its CPUs, so that the kernel tells at the very moment if two live
//! steps are bound to one. At the end the ledger must be empty, nothing may be left, and slurmd's memory must not have
//! grown. With `--confine` the tasks are fenced too (`confined`).

mod confined;
mod counts;
mod hotplug;
mod killer;
mod leftovers;
mod options;
mod processes;
mod samples;
mod table;
mod task;
mod upgrade;
mod work;

use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use berth_tests::{Builder, Cluster, command};

use crate::counts::Counts;
use crate::options::Options;
use crate::work::Soak;

/// Steps at a time; an emulated machine takes them slowly, and they mostly wait.
const WORKERS: usize = 24;
const WORKERS_EMULATED: usize = 16;
/// Nothing to be played: this machine has no cpusets that can be made.
const SKIPPED: u8 = 3;
/// What an entry may last that nobody came for: a slurmstepd killed before it could confirm.
const LAST_ENTRIES: Duration = Duration::from_secs(90);

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [role, folder, kind] = words.as_slice()
        && role == "task"
    {
        return task::run(folder, kind);
    }
    let Some(options) = options::read(&words) else {
        eprintln!("{}", options::USAGE);
        return ExitCode::from(2);
    };
    if options.hotplug.is_some() && hotplug::switches().is_empty() {
        eprintln!("berth-soak: no CPU can be taken off here");
        return ExitCode::from(SKIPPED);
    }
    let Some(cluster) = cluster(&options) else {
        eprintln!("berth-soak: no cgroup with cpusets can be made here");
        return ExitCode::from(SKIPPED);
    };
    let soak = Soak::new(cluster, &options);
    let since = Instant::now();
    run(&soak, &options);
    let left = soak.wait_for_empty_ledger(LAST_ENTRIES);
    let took = since.elapsed();
    let mut wrong: Vec<_> = left
        .into_iter()
        .map(|left| format!("the ledger is not empty: {left}"))
        .collect();
    if options.confines {
        wrong.extend(confined::left(&soak));
    }
    wrong.extend(leftovers::look(&soak));
    finish(&soak, &options, wrong, took)
}

/// The cluster; none if its cgroups cannot be made here.
fn cluster(options: &Options) -> Option<Cluster> {
    let up = |builder: Builder| {
        let builder = builder
            // The object may lie where no command is beside it.
            .command(&command())
            .set("PartitionName=main Nodes=ALL Default=YES OverSubscribe=FORCE:64")
            // slurmctld forgets ended jobs soon, and so stays quick over many thousands.
            .set("MinJobAge=20")
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

fn run(soak: &Soak, options: &Options) {
    let seed = options.seed;
    std::thread::scope(|scope| {
        let workers = options.workers.unwrap_or(match soak.is_emulated {
            true => WORKERS_EMULATED,
            false => WORKERS,
        });
        let workers: Vec<_> = (0..workers)
            .map(|worker| scope.spawn(move || soak.work(seed * 1000 + worker as u64)))
            .collect();
        let mut others = vec![
            scope.spawn(move || killer::run(soak, seed)),
            scope.spawn(move || samples::run(soak)),
        ];
        if soak.confines {
            others.push(scope.spawn(move || confined::suspend(soak, seed)));
        }
        if let Some(every) = options.hotplug {
            others.push(scope.spawn(move || hotplug::run(soak, every, seed)));
        }
        for worker in workers {
            worker.join().expect("a worker does not fail");
        }
        soak.done.store(true, Ordering::Relaxed);
        for other in others {
            other.join().expect("a companion does not fail");
        }
    });
}

fn finish(soak: &Soak, options: &Options, mut wrong: Vec<String>, took: Duration) -> ExitCode {
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
    let longest = soak.samples.longest();
    println!("{longest}");
    wrong.extend(longest.leak());
    wrong.extend(soak.counts.shows_little(options, longest.grown().is_some()));
    for wrong in &wrong {
        println!("FAIL {wrong}\n(see {})", command().display());
    }
    let is_well = wrong.is_empty() && told.is_well();
    if let Some(file) = &options.table {
        table::append(file, soak, options, (&told, &longest), (took, is_well));
    }
    match is_well {
        true => ExitCode::SUCCESS,
        false => {
            soak.keep_logs();
            ExitCode::FAILURE
        }
    }
}
