//! What happens to a job in a cpuset. The first cpuset of a node is CPUs 0-3, of cores 0-1 and 2-3.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::site::{Job, Site};
use crate::tasks::Seen;

/// A scene, by its name.
pub type Scene = (&'static str, fn(&Site));

pub const SCENES: [Scene; 7] = [
    ("nothing-taken", nothing_taken),
    ("moved-within-its-node", moved_within),
    ("moved-to-the-other-node", moved_away),
    ("mandatory-moved", mandatory_moved),
    ("orig-cpus-waits", orig_waits),
    ("mandatory-orig-waits", mandatory_orig_waits),
    ("shared", shared),
];

/// How long memory may follow: the machine is emulated.
const FOLLOWS: Duration = Duration::from_secs(60);
/// Where Slurm does not confine jobs to their cores, and the ledger alone knows who has which.
pub const UNCONFINED: [Scene; 1] = [("by-the-ledger", by_ledger)];

pub const ANY: &str = "NCPUS=4";
pub const ORIG: &str = "NCPUS=4;RESUME_OPTION=ORIG_CPUS";
pub const MANDATORY: &str = "NCPUS=4;CPUSET_OPTIONS=CPUSET_MEMORY_MANDATORY";
const BOTH: &str = "NCPUS=4;RESUME_OPTION=ORIG_CPUS;CPUSET_OPTIONS=CPUSET_MEMORY_MANDATORY";

/// How long it may take until a job is where it is to be: those that have its CPUs get 5 s to stop.
const MOVES: Duration = Duration::from_secs(20);

/// Each task's mask and the CPUs of its cgroup, now or soon.
#[track_caller]
pub fn at(job: &Job, masks: [&str; 2], fence: &str) {
    let expected = masks.map(|mask| Seen::new(mask, fence));
    let start = Instant::now();
    while job.tasks.seen() != expected && start.elapsed() < MOVES {
        sleep(Duration::from_millis(100));
    }
    println!(
        "  it is on CPUs {fence} after {:.1} s",
        start.elapsed().as_secs_f64()
    );
    assert_eq!(job.tasks.seen(), expected);
}

/// The tasks do not run, although Slurm says so.
#[track_caller]
pub fn waits(site: &Site, job: &Job) {
    site.wait_state(&job.id, "RUNNING");
    let number = format!("job={}: ", job.id);
    site.cluster.wait_for("the service's line", || {
        let log = site.service_log();
        let is_it = |line: &str| line.contains(&number) && line.contains("its tasks stay frozen");
        log.lines().any(is_it).then_some(())
    });
    let before = job.tasks.beats();
    sleep(Duration::from_secs(3));
    assert_eq!(job.tasks.beats(), before, "they run");
}

/// The memory of a job is on a node, or follows it there while it runs.
#[track_caller]
pub fn memory(job: &Job, node: u32) {
    let end = Instant::now() + FOLLOWS;
    let (mut share, mut is_whole) = job.tasks.share_on(node);
    while !(is_whole && share >= 0.95) && Instant::now() < end {
        sleep(Duration::from_millis(100));
        (share, is_whole) = job.tasks.share_on(node);
    }
    println!("  {:.2} % of the pages are on node {node}", share * 100.0);
    assert!(
        is_whole && share >= 0.95,
        "only {share} of the pages are on node {node}"
    );
}

pub fn again(site: &Site, job: &Job) {
    let start = Instant::now();
    site.resume(job);
    site.wait_running(&job.tasks);
    println!(
        "  it runs {:.1} s after scontrol resume",
        start.elapsed().as_secs_f64()
    );
}

fn nothing_taken(site: &Site) {
    let job = site.job(ANY);
    for _ in 0..2 {
        at(&job, ["0-1", "2-3"], "0-3");
        site.suspend(&job);
        again(site, &job);
    }
    at(&job, ["0-1", "2-3"], "0-3");
    memory(&job, 0);
}

fn moved_within(site: &Site) {
    for cpuset in [ANY, ORIG] {
        let job = site.job(cpuset);
        at(&job, ["0-1", "2-3"], "0-3");
        site.suspend(&job);
        let other = site.other(2);
        again(site, &job);
        // Core 1 stays, core 0 is taken.
        at(&job, ["4-5", "2-3"], "2-5");
        memory(&job, 0);
        // The next time it has them again if nobody took them.
        site.suspend(&job);
        again(site, &job);
        at(&job, ["4-5", "2-3"], "2-5");
        site.cluster.run("scancel", &[&other, &job.id]);
        site.cluster.wait_idle();
    }
}

fn moved_away(site: &Site) {
    let job = site.job(ANY);
    memory(&job, 0);
    site.suspend(&job);
    site.other(8);
    again(site, &job);
    at(&job, ["8-9", "10-11"], "8-11");
    memory(&job, 1);
}

fn mandatory_moved(site: &Site) {
    let job = site.job(MANDATORY);
    at(&job, ["0-1", "2-3"], "0-7");
    memory(&job, 0);
    site.suspend(&job);
    site.other(2);
    again(site, &job);
    at(&job, ["8-9", "10-11"], "8-15");
    memory(&job, 1);
}

fn orig_waits(site: &Site) {
    let job = site.job(ORIG);
    site.suspend(&job);
    let other = site.other(8);
    site.resume(&job);
    waits(site, &job);
    site.cluster.run("scancel", &[&other]).expect_ok();
    site.wait_running(&job.tasks);
    at(&job, ["0-1", "2-3"], "0-3");
    memory(&job, 0);
}

fn mandatory_orig_waits(site: &Site) {
    let job = site.job(BOTH);
    site.suspend(&job);
    let other = site.other(2);
    site.resume(&job);
    waits(site, &job);
    site.cluster.run("scancel", &[&other]).expect_ok();
    site.wait_running(&job.tasks);
    at(&job, ["0-1", "2-3"], "0-7");
    memory(&job, 0);
}

/// Without RESUME_OPTION a job runs in the end.
fn shared(site: &Site) {
    let job = site.job(ANY);
    site.suspend(&job);
    site.other(16);
    again(site, &job);
    at(&job, ["0-1", "2-3"], "0-3");
}

/// Another job's cpuset has the CPUs, one that is suspended itself has not.
fn by_ledger(site: &Site) {
    let job = site.job(ANY);
    at(&job, ["0-1", "2-3"], "0-3");
    site.suspend(&job);
    let other = site.other_with(&["-n16", "--cpuset=CPU_LIST=0-1;NCPUS=2"]);
    again(site, &job);
    at(&job, ["4-5", "2-3"], "2-5");
    // A cpuset of a suspended job does not count.
    site.suspend(&job);
    site.cluster.scontrol(&["suspend", &other]).expect_ok();
    site.wait_state(&other, "SUSPENDED");
    let third = site.other_with(&["-n16", "--cpuset=CPU_LIST=2-5;NCPUS=4"]);
    again(site, &job);
    at(&job, ["6-7", "0-1"], "0-1,6-7");
    site.cluster.run("scancel", &[&other, &third]);
}
