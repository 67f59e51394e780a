//! Who gets the CPUs: what a pool job got of what it asked for, and what a normal job keeps.

use std::thread;
use std::time::{Duration, Instant};

use crate::job::{Begun, Job, begin, start};
use crate::promises::cancel;
use crate::{Count, Here, Told, figures};

/// How long the jobs are watched.
const WINDOW: Duration = Duration::from_secs(20);
/// A normal job keeps this part of a CPU.
const KEPT: f64 = 0.01;

/// Who runs beside the pool job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beside {
    Nobody,
    /// One job on all CPUs.
    Wide,
    /// A job on each CPU.
    Serial,
}

pub(crate) fn all(here: &Here, count: &mut Count) {
    for beside in [Beside::Nobody, Beside::Wide, Beside::Serial] {
        count.play(here, &format!("{beside:?}"), || meetings(here, beside));
    }
    count.play(here, "half asleep", || half_asleep(here));
    count.play(here, "fifteen threads", || fifteen(here));
}

/// One pool job after another meets the same normal jobs.
fn meetings(here: &Here, beside: Beside) -> Told {
    let normal = fill(here, beside)?;
    let half = here.pool;
    let mut all = vec![(half, true), (4, true), (1, true)];
    // Outside of its pool the job is the same in each class.
    if here.class == "weight" && beside != Beside::Nobody {
        all.push((half, false));
    }
    let mut told = Ok(());
    for meeting in all {
        if let Err(why) = meet(here, meeting, (beside, &normal)) {
            println!("  wrong: {why}");
            told = told.and(Err(format!("{meeting:?}: {why}")));
        }
    }
    told
}

/// Starts the normal jobs that a pool job meets.
pub(crate) fn fill(here: &Here, beside: Beside) -> Result<Vec<Job>, String> {
    let (jobs, tasks) = match beside {
        Beside::Nobody => (0, 0),
        Beside::Wide => (1, here.cpus),
        Beside::Serial => (here.cpus, 1),
    };
    // All at once: on a busy machine each would take longer than the one before it.
    let one = |_| begin(&here.cluster, &["-pnormal"], ("spin", tasks, 2));
    let all: Vec<_> = (0..jobs).map(one).collect();
    all.into_iter().map(Begun::wait).collect()
}

/// The CPUs that each job used on average, beginning with the pool's.
pub(crate) fn watch(pool: &Job, normal: &[Job]) -> Vec<f64> {
    let used = || -> Vec<f64> { std::iter::once(pool).chain(normal).map(Job::used).collect() };
    // The first moments are a start, no load.
    thread::sleep(Duration::from_secs(2));
    let (before, since) = (used(), Instant::now());
    thread::sleep(WINDOW);
    let (after, wall) = (used(), since.elapsed().as_secs_f64());
    after
        .iter()
        .zip(&before)
        .map(|(after, before)| (after - before) / wall)
        .collect()
}

fn meet(here: &Here, (asked, is_pool): (u32, bool), (beside, normal): (Beside, &[Job])) -> Told {
    let mut options = vec!["-pmulti8"];
    options.extend((!is_pool).then_some("--pool=none"));
    let pool = start(&here.cluster, &options, ("spin", asked, 1))?;
    let part = watch(&pool, normal);
    let all: f64 = part.iter().sum();
    let delivered = match beside {
        // What the pool and those on its CPUs got together: this program needs CPU time too.
        Beside::Serial => {
            let own = pool.cpus();
            let is_here = |job: &Job| own.contains(&job.cpus()[0]);
            let here = normal
                .iter()
                .zip(&part[1..])
                .filter(|(job, _)| is_here(job));
            part[0] / (part[0] + here.map(|(_, part)| part).sum::<f64>())
        }
        // All CPUs are busy, so what they delivered together is their number.
        Beside::Wide => part[0] / (f64::from(asked) * all / f64::from(here.cpus)),
        Beside::Nobody => part[0] / f64::from(asked),
    };
    let least = part[1..].iter().copied().fold(f64::INFINITY, f64::min);
    let slower = slowdown(beside, least, here.cpus);
    let weights: Vec<_> = normal.iter().map(Job::weight).collect();
    println!(
        "  delivered/asked {delivered:.3}, normal jobs at least {least:.3} CPUs, {slower:.1} times as long, all {all:.2} CPUs; weights {} and {weights:?}",
        pool.weight(),
    );
    figures::add(&[
        if is_pool { here.class } else { "none" },
        &format!("{beside:?}"),
        &asked.to_string(),
        &format!("{delivered:.4}"),
        &format!("{:.4}", if normal.is_empty() { 0.0 } else { least }),
    ]);
    let others = here.others();
    let weight = if is_pool {
        here.weight_of(asked)
    } else {
        others
    };
    let was_so = (pool.weight(), weights);
    let (is_pools_idle, is_idle) = (pool.is_idle(), here.class != "weight");
    let are_idle = normal.iter().all(|job| job.is_idle() == is_idle);
    cancel(here, &pool);
    if was_so.0 != weight || was_so.1.iter().any(|weight| *weight != others) {
        return Err(format!("weights {weight} and {others} were expected"));
    }
    if is_pools_idle != (is_idle && !is_pool) || !are_idle {
        return Err("cpu.idle is not as expected".into());
    }
    judge(here.class, (beside, is_pool), (delivered, least))
}

/// How many times as long the slowest normal job takes, which has so many CPUs, as it would without others.
fn slowdown(beside: Beside, least: f64, cpus: u32) -> f64 {
    let alone = match beside {
        Beside::Nobody => return 1.0,
        Beside::Wide => f64::from(cpus),
        Beside::Serial => 1.0,
    };
    alone / least.max(f64::MIN_POSITIVE)
}

fn judge(class: &str, (beside, is_pool): (Beside, bool), (delivered, least): (f64, f64)) -> Told {
    let (busy, quiet, kept) = match class {
        // The kernel keeps 5 % for others, and the node's own daemons are among them.
        "realtime" => (0.90, 0.94, KEPT / 2.0),
        _ => (0.95, 0.99, KEPT),
    };
    let wanted = match (beside, is_pool) {
        (Beside::Nobody, _) => quiet,
        (_, true) => busy,
        // Measured beside the others.
        (_, false) => return Ok(()),
    };
    match (delivered >= wanted, least >= kept) {
        (false, _) => Err(format!("delivered/asked {delivered:.3} is below {wanted}")),
        (_, false) => Err(format!("a normal job has {least:.4} CPUs, below {kept}")),
        _ => Ok(()),
    }
}

/// A pool job that sleeps half of the time leaves that half to the others.
fn half_asleep(here: &Here) -> Told {
    let normal = fill(here, Beside::Wide)?;
    let half = here.pool;
    let pool = start(&here.cluster, &["-pmulti8"], ("half", half, 1))?;
    let part = watch(&pool, &normal);
    let (asked, all) = (
        f64::from(half),
        part.iter().sum::<f64>() / f64::from(here.cpus),
    );
    let (own, left) = (
        part[0] / all / asked,
        (part[1] / all - (f64::from(here.cpus) - asked)) / asked,
    );
    println!("  of its CPUs the pool has {own:.3}, the normal job {left:.3}");
    match (0.40..0.56).contains(&own) && left >= 0.42 {
        true => Ok(()),
        false => Err("neither has about half".into()),
    }
}

/// A program with fifteen threads for some CPUs uses these.
fn fifteen(here: &Here) -> Told {
    let half = here.pool;
    let pool = start(
        &here.cluster,
        &["-pmulti8", &format!("-c{half}")],
        ("spin", 1, 15),
    )?;
    let part = watch(&pool, &[]);
    println!("  fifteen threads on {half} CPUs use {:.2}", part[0]);
    match part[0] <= f64::from(half) * 1.02 && part[0] >= f64::from(half) * 0.9 {
        true => Ok(()),
        false => Err("they use others, or not all".into()),
    }
}
