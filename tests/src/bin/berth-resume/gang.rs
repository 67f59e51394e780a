//! Jobs that Slurm itself suspends: two that take turns, and one that is preempted.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::scenes::{ANY, Scene, at, memory};
use crate::site::{Job, SIZE, Site};
use crate::tasks::{Seen, frames};

pub const SCENES: [Scene; 4] = [
    ("time-slices", time_slices),
    ("preempted", preempted),
    ("preempted-and-moved", preempted_and_moved),
    ("preempted-by-an-exclusive-cpuset", by_exclusive),
];

const TURNS: Duration = Duration::from_secs(120);
const EXCLUSIVE: &str = "CPU_LIST=0-3;NCPUS=4;CPUSET_OPTIONS=CPUSET_CPU_EXCLUSIVE";

/// Where the tasks of a job are, and their memory, page by page.
fn place(job: &Job) -> (Vec<Seen>, Vec<Vec<u64>>) {
    let frames = job.tasks.pids().into_iter().map(frames).collect();
    (job.tasks.seen(), frames)
}

fn state(site: &Site, job: &Job) -> String {
    let shown = site
        .cluster
        .run("squeue", &["-h", "-o", "%T", "-j", &job.id]);
    shown.stdout.trim().to_owned()
}

/// Two minutes of turns move nothing. The second job has half of the cores, so that the first would find others.
fn time_slices(site: &Site) {
    let jobs = [
        site.job_with(SIZE, &["-n16"], ANY),
        site.job_with(SIZE, &["-n8"], ANY),
    ];
    let before = [place(&jobs[0]), place(&jobs[1])];
    let beats = [jobs[0].tasks.beats(), jobs[1].tasks.beats()];
    for ((seen, frames), job) in before.iter().zip(&jobs) {
        println!(
            "  job {}: {seen:?}, {} pages",
            job.id,
            frames.concat().len()
        );
        assert_eq!(frames.len(), 2);
        assert!(
            frames
                .iter()
                .all(|frames| frames.len() as u64 >= SIZE * 256)
        );
    }
    let from = site.service_log().len();
    let (start, mut turns, mut last) = (Instant::now(), 0, String::new());
    while start.elapsed() < TURNS {
        let now = state(site, &jobs[0]);
        turns += usize::from(now != last);
        last = now;
        sleep(Duration::from_millis(500));
    }
    for ((job, before), beats) in jobs.iter().zip(before).zip(beats) {
        let after = place(job);
        assert_eq!(after.0, before.0, "job {}", job.id);
        let is_same = after.1 == before.1;
        assert!(is_same, "pages of job {} are elsewhere", job.id);
        let now = job.tasks.beats();
        assert!(
            now.iter().all(|(task, beat)| *beat > beats[task] + 10),
            "{now:?}"
        );
    }
    let log = site.service_log();
    let moves = log[from..].matches("its cpuset had CPUs").count();
    println!(
        "  {turns} turns in {} s, {moves} moves, every page in its frame",
        TURNS.as_secs()
    );
    assert!(turns >= 5 && moves == 0, "{turns} turns, {moves} moves");
}

pub fn suspended_by(site: &Site, job: &Job) {
    site.wait_state(&job.id, "SUSPENDED");
    site.wait_frozen(job);
}

pub fn back(site: &Site, job: &Job) {
    let start = Instant::now();
    site.wait_state(&job.id, "RUNNING");
    site.wait_running(&job.tasks);
    println!(
        "  it runs {:.1} s after the other's end",
        start.elapsed().as_secs_f64()
    );
}

fn preempted(site: &Site) {
    let job = site.job(ANY);
    at(&job, ["0-1", "2-3"], "0-3");
    for _ in 0..2 {
        let other = site.other(8);
        suspended_by(site, &job);
        site.cluster.run("scancel", &[&other]).expect_ok();
        back(site, &job);
        at(&job, ["0-1", "2-3"], "0-3");
        memory(&job, 0);
    }
}

/// While it was suspended, a job that nobody preempts has got one of its cores: the first that the high one leaves.
fn preempted_and_moved(site: &Site) {
    let job = site.job("CPU_LIST=8-15;NCPUS=4");
    at(&job, ["8-9", "10-11"], "8-11");
    let other = site.other(8);
    suspended_by(site, &job);
    let words = ["-n2", "--distribution=block:block"];
    let beside = site.try_other("side", &words).expect("a job beside it");
    site.cluster.run("scancel", &[&other]).expect_ok();
    back(site, &job);
    at(&job, ["12-13", "10-11"], "10-13");
    memory(&job, 1);
    site.cluster.run("scancel", &[&beside]);
}

/// The other job wants the same CPUs for itself, and begins while this one is being suspended.
fn by_exclusive(site: &Site) {
    let job = site.job(EXCLUSIVE);
    at(&job, ["0-1", "2-3"], "0-3");
    let cpuset = format!("--cpuset={EXCLUSIVE}");
    let other = match site.try_other("high", &["-n16", &cpuset]) {
        Ok(other) => other,
        Err(why) => {
            site.skip(&format!(
                "the node refuses an exclusive cpuset whose CPUs a job has that is being suspended: {why}"
            ));
            return;
        }
    };
    suspended_by(site, &job);
    site.cluster.run("scancel", &[&other]).expect_ok();
    back(site, &job);
    at(&job, ["0-1", "2-3"], "0-3");
}
