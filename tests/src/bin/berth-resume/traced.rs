//! A resumed job that waits for its CPUs, by the trace of the kernel's scheduler: how long its tasks run between Slurm's
//! thaw and the service's freeze, and that they run nowhere but on their CPUs once the service lets them go on.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use berth_placement::{CpuId, CpuSet};
use berth_tests::process;
use berth_tests::trace::{Event, Recorder, What};

use crate::scenes::{ORIG, Scene, at, waits};
use crate::site::{Job, Site, folder};

pub const SCENES: [Scene; 1] = [("the-moment-before-the-wait", orig_waits)];

/// Of the trace on each CPU.
const KIB: u32 = 4096;
/// So often each task is to have run at its new place, and so long that may take on a busy host.
const ENOUGH: u64 = 20;
const LONGEST: Duration = Duration::from_secs(60);

/// Slurm thaws the job long before it has its CPUs.
fn orig_waits(site: &Site) {
    let job = site.job(ORIG);
    site.suspend(&job);
    let other = site.other(8);
    let pids = job.tasks.pids();
    let leaves: Vec<_> = pids.iter().map(|pid| folder(*pid)).collect();
    let recorder = Recorder::start("resume", KIB, &watched(site, &job, &pids)).expect("a trace");
    for event in ["cgroup/cgroup_freeze", "cgroup/cgroup_unfreeze"] {
        recorder.add(event).expect("an event");
    }
    site.resume(&job);
    waits(site, &job);
    site.cluster.run("scancel", &[&other]).expect_ok();
    site.wait_running(&job.tasks);
    run_for_a_while(&pids);
    let trace = recorder.take().unwrap_or_else(|lost| panic!("{lost:?}"));
    drop(recorder);
    at(&job, ["0-1", "2-3"], "0-3");
    for ((pid, leaf), mask) in pids.into_iter().zip(leaves).zip(["0-1", "2-3"]) {
        judge(
            &trace,
            (pid, &leaf),
            &CpuSet::from_list(mask).expect("a list of CPUs"),
        );
    }
}

fn run_for_a_while(pids: &[i32]) {
    let since: Vec<_> = pids.iter().map(|pid| switches(*pid)).collect();
    let end = Instant::now() + LONGEST;
    let mut all = pids.iter().zip(since);
    while Instant::now() < end && all.any(|(pid, since)| switches(*pid) < since + ENOUGH) {
        sleep(Duration::from_millis(500));
    }
}

/// How often a task has given its CPU away so far.
fn switches(pid: i32) -> u64 {
    let fields = ["voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"];
    let count = |field: &&str| process::status(pid, field)?.parse::<u64>().ok();
    fields.iter().filter_map(count).sum()
}

/// What the trace says of one task: Slurm's thaw, the service's freeze, and its thaw, after which the task runs on its
/// own CPUs alone.
#[track_caller]
fn judge(trace: &str, (pid, leaf): (i32, &str), mask: &CpuSet) {
    let (above, _) = leaf.rsplit_once('/').expect("a folder");
    let time_of = |event: &str, path: &str| {
        let path = format!("path={path}");
        let is_it = |line: &&str| line.contains(event) && line.trim_end().ends_with(&path);
        trace.lines().find(is_it).and_then(seconds)
    };
    let slurms = time_of("cgroup_unfreeze:", above).expect("Slurm's thaw");
    let freeze = time_of("cgroup_freeze:", leaf).expect("the service's freeze");
    let thaw = time_of("cgroup_unfreeze:", leaf).expect("the service's thaw");
    let (mut between, mut after) = (0, 0);
    for line in trace.lines() {
        let (Some(at), Some(Event { cpu, what })) = (seconds(line), Event::read(line)) else {
            continue;
        };
        match what == What::Runs(pid) {
            true if at > thaw => {
                after += 1;
                assert!(
                    mask.contains(CpuId(cpu)),
                    "process {pid} on CPU {cpu}, not {mask}: {line}"
                );
            }
            true if at > slurms => between += 1,
            _ => {}
        }
    }
    println!(
        "  process {pid}: {:.1} ms between Slurm's thaw and the service's freeze, started {between} times; {after} times \
         on {mask} after the service's thaw",
        (freeze - slurms) * 1000.0
    );
    assert!(after > 10, "{after}");
}

/// `sleep-41 [001] d..2. 123.456789: event: …`
fn seconds(line: &str) -> Option<f64> {
    let words = line
        .split_whitespace()
        .filter_map(|word| word.strip_suffix(':'));
    words.filter_map(|word| word.parse().ok()).next()
}

/// The tasks, the threads of their slurmstepds, which thaw them, and the service's.
fn watched(site: &Site, job: &Job, pids: &[i32]) -> Vec<i32> {
    let stepds = process::find("slurmstepd", &format!("[{}.0]", job.id));
    assert!(!stepds.is_empty(), "no slurmstepd");
    let threads = stepds.into_iter().chain([site.service()]).flat_map(|pid| {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter();
        let threads = threads.flatten().flatten();
        threads.filter_map(|thread| thread.file_name().to_str()?.parse().ok())
    });
    pids.iter().copied().chain(threads).collect()
}
