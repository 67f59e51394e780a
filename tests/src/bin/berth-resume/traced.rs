//! Where the tasks of a resumed job run, by the trace of the kernel's scheduler: after berth's thaw no task is on a
//! CPU outside its new ones, whichever way its job was suspended and its CPUs were chosen.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use berth_placement::{CpuId, CpuSet};
use berth_tests::process;
use berth_tests::trace::{Event, Recorder, What};

use crate::gang::{back, suspended_by};
use crate::scenes::{ANY, MANDATORY, ORIG, Scene, again, at, waits};
use crate::site::{Job, Site, folder, leaf};

pub const SCENES: [Scene; 4] = [
    ("not-one-instruction-elsewhere", any),
    ("not-one-instruction-elsewhere-orig-cpus", orig),
    ("not-one-instruction-elsewhere-orig-waits", orig_waits),
    ("not-one-instruction-elsewhere-mandatory", mandatory),
];
/// Where jobs preempt each other.
pub const GANG: [Scene; 1] = [("not-one-instruction-elsewhere-preempted", preempted)];

/// Of the trace on each CPU.
const KIB: u32 = 4096;
/// So often each task is to have run at its new place, and so long that may take on a busy host.
const ENOUGH: u64 = 20;
const LONGEST: Duration = Duration::from_secs(60);

/// What was seen of one task.
#[derive(Debug, Default)]
struct Starts {
    before: u32,
    after: u32,
    is_thawed: bool,
}

fn any(site: &Site) {
    moved(site, ANY, (["4-5", "2-3"], "2-5"));
}

fn orig(site: &Site) {
    moved(site, ORIG, (["4-5", "2-3"], "2-5"));
}

fn mandatory(site: &Site) {
    moved(site, MANDATORY, (["8-9", "10-11"], "8-15"));
}

/// Another job has taken the first core.
fn moved(site: &Site, cpuset: &str, place: ([&str; 2], &str)) {
    let job = site.job(cpuset);
    site.suspend(&job);
    site.other(2);
    trace(&job, place, || again(site, &job));
}

/// Slurm thaws the job long before it has its CPUs.
fn orig_waits(site: &Site) {
    let job = site.job(ORIG);
    site.suspend(&job);
    let other = site.other(8);
    trace(&job, (["0-1", "2-3"], "0-3"), || {
        site.resume(&job);
        waits(site, &job);
        site.cluster.run("scancel", &[&other]).expect_ok();
        site.wait_running(&job.tasks);
    });
}

/// A job of a higher partition suspends it, and one beside it keeps one of its cores.
fn preempted(site: &Site) {
    let job = site.job("CPU_LIST=8-15;NCPUS=4");
    at(&job, ["8-9", "10-11"], "8-11");
    let other = site.other(8);
    suspended_by(site, &job);
    let words = ["-n2", "--distribution=block:block"];
    site.try_other("side", &words).expect("a job beside it");
    trace(&job, (["12-13", "10-11"], "10-13"), || {
        site.cluster.run("scancel", &[&other]).expect_ok();
        back(site, &job);
    });
}

/// Records a frozen job while it goes on, until it has run at its new place for a while.
fn trace(job: &Job, (masks, fence): ([&str; 2], &str), go_on: impl FnOnce()) {
    let pids = job.tasks.pids();
    let recorder = Recorder::start("resume", KIB, &watched(job, &pids)).expect("a trace");
    recorder.add("cgroup/cgroup_unfreeze").expect("an event");
    go_on();
    let since: Vec<_> = pids.iter().map(|pid| switches(*pid)).collect();
    let end = Instant::now() + LONGEST;
    let all = pids.iter().zip(since);
    while Instant::now() < end
        && all
            .clone()
            .any(|(pid, since)| switches(*pid) < since + ENOUGH)
    {
        sleep(Duration::from_millis(500));
    }
    let trace = recorder.take().unwrap_or_else(|lost| panic!("{lost:?}"));
    drop(recorder);
    at(job, masks, fence);
    for (task, (pid, mask)) in pids.into_iter().zip(masks).enumerate() {
        let mask = CpuSet::from_list(mask).expect("a list of CPUs");
        let seen = starts(&trace, pid, &mask);
        println!(
            "  task {task}: started {} times on {mask} after the thaw, {} times before it (in the kernel, to hear \
             Slurm's signal)",
            seen.after, seen.before
        );
        assert!(seen.is_thawed && seen.after > 10, "{seen:?}");
    }
}

/// How often a task has given its CPU away so far.
fn switches(pid: i32) -> u64 {
    let fields = ["voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"];
    let count = |field: &&str| process::status(pid, field)?.parse::<u64>().ok();
    fields.iter().filter_map(count).sum()
}

/// How often the scheduler started a task; after its thaw only on these CPUs.
#[track_caller]
fn starts(trace: &str, pid: i32, mask: &CpuSet) -> Starts {
    let own = format!("path={}", folder(pid));
    let is_thaw = |line: &str| line.contains("cgroup_unfreeze:") && line.trim_end().ends_with(&own);
    let mut seen = Starts::default();
    for line in trace.lines() {
        seen.is_thawed |= is_thaw(line);
        let Some(Event { cpu, what }) = Event::read(line) else {
            continue;
        };
        if what != What::Runs(pid) {
            continue;
        }
        if !seen.is_thawed {
            seen.before += 1;
            continue;
        }
        seen.after += 1;
        assert!(
            mask.contains(CpuId(cpu)),
            "process {pid} on CPU {cpu}, not {mask}: {line}"
        );
    }
    seen
}

/// The tasks, and the threads of their slurmstepds, which thaw them.
fn watched(job: &Job, pids: &[i32]) -> Vec<i32> {
    assert!(leaf(pids[0], "cgroup.freeze") == "1", "it is not frozen");
    let stepds = process::find("slurmstepd", &format!("[{}.0]", job.id));
    assert!(!stepds.is_empty(), "no slurmstepd");
    let threads = stepds.iter().flat_map(|pid| {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter();
        let threads = threads.flatten().flatten();
        threads.filter_map(|thread| thread.file_name().to_str()?.parse().ok())
    });
    pids.iter().copied().chain(threads).collect()
}
