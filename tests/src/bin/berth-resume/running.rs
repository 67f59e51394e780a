//! What runs when after a resume: steps of a job that waits, and tasks whose memory follows.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use berth_tests::process;

use crate::scenes::{ANY, ORIG, Scene, again, at, memory, waits};
use crate::site::Site;

pub const SCENES: [Scene; 2] = [
    ("step-of-a-job-that-waits", late_step),
    ("memory-follows-running-tasks", memory_follows),
];

/// MiB of each task whose memory takes a while.
const LARGE: u64 = 160;

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
