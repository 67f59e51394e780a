//! Who gets the CPUs: what a pool job got of what it asked for, by the kernel and by its line in slurmd's log.

use std::thread::sleep;
use std::time::Duration;

use crate::Here;
use crate::job::{Begun, Job, begin, end_all, start};

/// How long the jobs are watched.
const WINDOW: Duration = Duration::from_secs(20);
/// A pool job gets this part of its CPUs, or more, beside busy jobs and on a quiet node.
const BUSY: f64 = 0.95;
const QUIET: f64 = 0.98;
/// A normal job on one CPU keeps this part of it.
const KEPT: f64 = 0.01;

pub(crate) fn quiet(here: &Here) {
    meets(here, &[], QUIET);
}

/// A job on each CPU.
pub(crate) fn serial(here: &Here) {
    let normal = fill(here, here.cpus, 1);
    let used = meets(here, &normal, BUSY);
    let least = used.iter().copied().fold(f64::INFINITY, f64::min);
    println!("  the normal job that has least keeps {least:.3} of its CPU");
    assert!(least >= KEPT, "a normal job has {least:.3} CPUs");
}

/// One job on all CPUs.
pub(crate) fn wide(here: &Here) {
    let normal = fill(here, 1, here.cpus);
    meets(here, &normal, BUSY);
}

/// So many normal jobs of so many tasks, each with two busy threads. All at once: on a busy machine each would take
/// longer than the one before it.
pub(crate) fn fill(here: &Here, jobs: u32, tasks: u32) -> Vec<Job> {
    let one = |_| begin(&here.cluster, &["-pnormal"], (tasks, 2));
    let all: Vec<Begun> = (0..jobs).map(one).collect();
    all.into_iter().map(|one| one.wait(&here.cluster)).collect()
}

/// A pool job meets normal jobs. In: they, and the part of its CPUs that it must get. Out: the CPUs of each normal job.
fn meets(here: &Here, normal: &[Job], least: f64) -> Vec<f64> {
    let pool = start(&here.cluster, &["-pmulti8"], (here.pool, 1));
    assert_eq!(pool.cpus().count(), here.pool as usize);
    assert_eq!(pool.weight(), here.weight_of(here.pool));
    for job in normal {
        assert_eq!(job.weight(), here.others(), "job {}", job.id);
    }
    // The first moments are a start, no load.
    sleep(Duration::from_secs(2));
    let look = || {
        [&pool]
            .into_iter()
            .chain(normal)
            .map(Job::used)
            .collect::<Vec<_>>()
    };
    let before = look();
    sleep(WINDOW);
    let both = look().into_iter().zip(before);
    let mut rates =
        both.map(|(after, before)| (after.1 - before.1) / (after.0 - before.0).as_secs_f64());
    let part = rates.next().expect("the pool job") / f64::from(here.pool);
    println!("  delivered/asked {part:.3} of {} CPUs", here.pool);
    assert!(part >= least, "{part:.3} is below {least}");
    let normal = rates.collect();
    ended(here, &pool.id, part);
    normal
}

/// The line of an ended pool job says the same as the kernel: its step had a moment to start.
fn ended(here: &Here, job: &str, part: f64) {
    here.cluster.run("scancel", &[job]).expect_ok();
    let begins = format!("step={job}.0 pool=multi8 cpus-asked={} ", here.pool);
    let line = here.cluster.wait_for("the line of the pool job", || {
        let log = here.cluster.slurmd_log();
        log.lines()
            .find(|line| line.contains(&begins))
            .map(str::to_owned)
    });
    println!("  {line}");
    let number = |name: &str| -> f64 {
        let word = line
            .split_whitespace()
            .find_map(|word| word.strip_prefix(name));
        word.and_then(|text| text.parse().ok()).expect(name)
    };
    let delivered = number("cpus-delivered=") / f64::from(here.pool);
    assert!(delivered > part * 0.7 && delivered <= 1.02, "{line}");
    assert!((0.0..=1.0).contains(&number("stalled=")), "{line}");
    end_all(&here.cluster);
}
