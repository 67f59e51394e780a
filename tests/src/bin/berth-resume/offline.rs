//! CPUs that go offline while tasks run, and come back.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::scenes::{ANY, Scene, again, at};
use crate::site::{Job, SIZE, Site, online};
use crate::tasks::Seen;

pub const SCENES: [Scene; 2] = [
    ("cpu-offline", replaced),
    ("cpu-offline-none-free", none_free),
];
/// Where every task has a fence of its own, and no job a cpuset.
pub const FENCED: [Scene; 2] = [
    ("cpu-offline-fenced", fenced),
    ("core-offline-fenced", core_away),
];

/// How long it may take: a look every five seconds, on an emulated machine.
const FOLLOWS: Duration = Duration::from_secs(8);

/// The tasks are there within some seconds.
#[track_caller]
fn becomes(job: &Job, expected: [Seen; 2]) {
    let end = Instant::now() + FOLLOWS;
    while job.tasks.seen() != expected && Instant::now() < end {
        sleep(Duration::from_millis(100));
    }
    assert_eq!(job.tasks.seen(), expected);
}

/// Other CPUs are free: the cpuset has them meanwhile.
fn replaced(site: &Site) {
    let job = site.job(ANY);
    let in_set = |masks: [&str; 2], fence| masks.map(|mask| Seen::new(mask, fence));
    at(&job, ["0-1", "2-3"], "0-3");
    for _ in 0..2 {
        online(1, false);
        becomes(&job, in_set(["4-5", "2-3"], "2-5"));
        online(1, true);
        becomes(&job, in_set(["0-1", "2-3"], "0-3"));
    }
}

/// Another job has all the others: the cpuset keeps the rest.
fn none_free(site: &Site) {
    let job = site.job(ANY);
    site.suspend(&job);
    site.other(16);
    again(site, &job);
    let in_set = |masks: [&str; 2], fence| masks.map(|mask| Seen::new(mask, fence));
    at(&job, ["0-1", "2-3"], "0-3");
    online(1, false);
    becomes(&job, in_set(["0", "2-3"], "0,2-3"));
    online(1, true);
    becomes(&job, in_set(["0-1", "2-3"], "0-3"));
}

/// Each task has one core on one of the sockets.
fn fenced_job(site: &Site) -> Job {
    let job = site.job_with(SIZE, &["-n16"], "");
    becomes(&job, whole());
    job
}

fn whole() -> [Seen; 2] {
    ["0-1", "8-9"].map(|own| Seen::new(own, own))
}

/// A task loses one of its CPUs, and has it again.
fn fenced(site: &Site) {
    let job = fenced_job(site);
    for _ in 0..2 {
        online(9, false);
        becomes(&job, [Seen::new("0-1", "0-1"), Seen::new("8", "8")]);
        online(9, true);
        becomes(&job, whole());
    }
}

/// A task loses all of them: it goes on, on other CPUs of its job, until they are back.
fn core_away(site: &Site) {
    let job = fenced_job(site);
    for cpu in [8, 9] {
        online(cpu, false);
    }
    let before = job.tasks.beats();
    site.wait_running(&job.tasks);
    println!("  {before:?}, then {:?}", job.tasks.seen());
    assert_eq!(job.tasks.seen()[0], whole()[0], "the other task stays");
    for cpu in [8, 9] {
        online(cpu, true);
    }
    becomes(&job, whole());
}
