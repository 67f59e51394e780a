//! What runs when after a resume: steps of a job that waits, tasks whose memory follows, and every task by the trace
//! of the kernel's scheduler.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use berth_placement::{CpuId, CpuSet};
use berth_tests::process;
use berth_tests::trace::{Event, Recorder, What};

use crate::scenes::{ANY, ORIG, Scene, again, at, memory, waits};
use crate::site::{Job, Site, folder, leaf};

pub const SCENES: [Scene; 3] = [
    ("step-of-a-job-that-waits", late_step),
    ("memory-follows-running-tasks", memory_follows),
    ("not-one-instruction-elsewhere", traced),
];

/// MiB of each task whose memory takes a while.
const LARGE: u64 = 160;
/// Of the trace on each CPU.
const KIB: u32 = 4096;

/// A step that begins while its job waits for its CPUs waits with it.
fn late_step(site: &Site) {
    let job = site.job(ORIG);
    site.suspend(&job);
    let other = site.other(8);
    site.resume(&job);
    waits(site, &job);
    let (mut srun, tasks, says) = site.step(&job);
    site.cluster.wait_for("the step's note", || {
        let says = fs::read_to_string(&says).unwrap_or_default();
        assert!(tasks.beats().is_empty(), "the step runs");
        says.contains("start when the job has its CPUs")
            .then_some(())
    });
    sleep(Duration::from_secs(3));
    assert!(tasks.beats().is_empty(), "the step runs");
    site.cluster.run("scancel", &[&other]).expect_ok();
    site.wait_running(&job.tasks);
    site.wait_running(&tasks);
    at(&job, ["0-1", "2-3"], "0-3");
    let seen = tasks.seen();
    println!("  the step: {seen:?}");
    assert!(seen.iter().all(|seen| seen.fence == "0-3"), "{seen:?}");
    // The next suspension is for all of them.
    site.suspend(&job);
    site.other(2);
    again(site, &job);
    site.wait_running(&tasks);
    assert!(tasks.seen().iter().all(|seen| seen.fence == "2-5"));
    process::end(&mut srun);
}

/// The tasks run before their memory has come, and can be suspended meanwhile.
fn memory_follows(site: &Site) {
    let job = site.job_with(LARGE, &["-n16"], ANY);
    memory(&job, 0);
    site.suspend(&job);
    site.other(8);
    let from = site.cluster.slurmd_log().len();
    // The script's memory is small.
    let follows = format!("step={}.0: memory of its cpuset", job.id);
    let has_followed = || site.cluster.slurmd_log()[from..].contains(&follows);
    again(site, &job);
    let (early, share) = (!has_followed(), job.tasks.share_on(1).0);
    println!(
        "  when they run, {:.2} % of the pages have come",
        share * 100.0
    );
    site.suspend(&job);
    println!("  suspended again while pages move: {}", !has_followed());
    again(site, &job);
    at(&job, ["8-9", "10-11"], "8-11");
    memory(&job, 1);
    site.cluster
        .wait_for("the line in the log", || has_followed().then_some(()));
    let log = site.cluster.slurmd_log();
    let mut lines = log[from..].lines();
    let thawed = lines
        .position(|line| line.contains("wrote \"0\" to") && line.contains("task_0/cgroup.freeze"));
    let followed = lines.position(|line| line.contains("pages followed their tasks"));
    assert!(
        thawed.is_some() && followed.is_some(),
        "{thawed:?} {followed:?}"
    );
    assert!(early, "all memory had come before they ran");
}

/// After berth's thaw no task is on a CPU outside of its new ones.
fn traced(site: &Site) {
    let job = site.job(ANY);
    site.suspend(&job);
    site.other(2);
    let pids = job.tasks.pids();
    let recorder = Recorder::start("resume", KIB, &watched(&job, &pids)).expect("a trace");
    recorder.add("cgroup/cgroup_unfreeze").expect("an event");
    again(site, &job);
    sleep(Duration::from_secs(2));
    let trace = recorder.take().unwrap_or_else(|lost| panic!("{lost:?}"));
    drop(recorder);
    at(&job, ["4-5", "2-3"], "2-5");
    for (task, (pid, seen)) in pids.iter().zip(job.tasks.seen()).enumerate() {
        let mask = CpuSet::from_list(&seen.mask).expect("a list of CPUs");
        let own = format!("path={}", folder(*pid));
        let is_thaw =
            |line: &str| line.contains("cgroup_unfreeze:") && line.trim_end().ends_with(&own);
        let (mut before, mut after, mut is_thawed) = (0, 0, false);
        for line in trace.lines() {
            is_thawed |= is_thaw(line);
            let Some(Event { cpu, what }) = Event::read(line) else {
                continue;
            };
            if what != What::Runs(*pid) {
                continue;
            }
            match is_thawed {
                false => before += 1,
                true => {
                    after += 1;
                    assert!(
                        mask.contains(CpuId(cpu)),
                        "task {task} on CPU {cpu}, not {mask}: {line}"
                    );
                }
            }
        }
        println!(
            "  task {task}: started {after} times on {mask} after the thaw, {before} times before it (in the kernel, \
             to hear Slurm's signal)"
        );
        assert!(is_thawed && after > 10, "{is_thawed} {after}");
    }
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
