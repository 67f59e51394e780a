//! The end of jobs whose tasks stay frozen: by scancel, and by their time limit. Programs that end at once when they
//! get SIGTERM, and programs that want to hear it first.

use std::time::{Duration, Instant};

use crate::scenes::{ORIG, Scene, waits};
use crate::site::{Job, Role, SIZE, Site};

pub const SCENES: [Scene; 3] = [
    ("frozen-and-cancelled", cancelled),
    ("suspended-and-cancelled", suspended),
    ("frozen-at-its-time-limit", time_limit),
];

/// A job that is cancelled must end within this time, long before Slurm kills it (`KillWait`, 30 s).
const CANCELLED: Duration = Duration::from_secs(10);
/// The same at its time limit. A job that has waited for a minute looks for a SIGTERM only every five seconds.
const TIMED_OUT: Duration = Duration::from_secs(20);
const ROLES: [Role; 2] = [Role::Fill, Role::Hear];

/// A job that waits for its CPUs ends when it is asked to, as one that runs.
fn cancelled(site: &Site) {
    for role in ROLES {
        let running = site.job_of(role, SIZE, &["-n16"], ORIG);
        cancel(site, &running, "runs");
        let (job, other) = waiting(site, role, &["-n16"]);
        cancel(site, &job, "waits");
        site.cluster.run("scancel", &[&other]);
        site.cluster.wait_idle();
    }
}

/// Slurm has it frozen, and berth too. Slurm kills such a job without asking its tasks first.
fn suspended(site: &Site) {
    let job = site.job(ORIG);
    site.suspend(&job);
    cancel(site, &job, "is suspended");
}

/// The time of a job that waits counts, and its end comes when its time is over.
fn time_limit(site: &Site) {
    let (job, _) = waiting(site, Role::Hear, &["-n16", "--time=1"]);
    let line = format!("Time limit exhausted for JobId={}", job.id);
    site.cluster.wait_for("the time limit", || {
        site.cluster.slurmctld_log().contains(&line).then_some(())
    });
    let start = Instant::now();
    ends(site, &job, (start, TIMED_OUT), "is at its time limit");
    let shown = site.cluster.scontrol(&["-o", "show", "job", &job.id]);
    let shown = shown.expect_ok();
    assert!(shown.contains("JobState=TIMEOUT "), "{shown}");
}

/// A job that Slurm has resumed, and that waits because the other one has its CPUs.
fn waiting(site: &Site, role: Role, options: &[&str]) -> (Job, String) {
    let job = site.job_of(role, SIZE, options, ORIG);
    site.suspend(&job);
    let other = site.other(8);
    site.resume(&job);
    waits(site, &job);
    (job, other)
}

fn cancel(site: &Site, job: &Job, which: &str) {
    let start = Instant::now();
    site.cluster.run("scancel", &[&job.id]).expect_ok();
    ends(site, job, (start, CANCELLED), which);
}

/// The job ends in time, and its tasks have heard SIGTERM if they wanted to.
#[track_caller]
fn ends(site: &Site, job: &Job, (start, within): (Instant, Duration), which: &str) {
    site.cluster.wait_for("the tasks' end", || {
        job.tasks.pids().is_empty().then_some(())
    });
    let tasks = start.elapsed();
    site.cluster.wait_for("the job's end", || {
        let shown = site
            .cluster
            .run("squeue", &["-h", "-o", "%T", "-j", &job.id]);
        shown.stdout.trim().is_empty().then_some(())
    });
    let took = start.elapsed();
    let heard = job.tasks.heard();
    println!(
        "  a job that {which}: its tasks have ended after {:.1} s, the job after {:.1} s; {heard} tasks heard SIGTERM",
        tasks.as_secs_f64(),
        took.as_secs_f64()
    );
    assert!(took < within, "{took:?}");
    let expected = match job.role {
        Role::Fill => 0,
        Role::Hear => 2,
    };
    assert_eq!(heard, expected, "tasks that heard SIGTERM");
}
