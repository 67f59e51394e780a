//! Who gets the CPUs: what a pool job got of what it asked for, and what a normal job keeps.

use crate::cancel::cancel;
use crate::job::{Begun, Job, begin, start};
use crate::measured::{Measured, watch};
use crate::scenes::Scene;
use crate::{HIGHEST, Here, Told, figures};

/// A normal job on one CPU keeps this part of it.
const KEPT: f64 = 0.01;
/// Below weights a wide job has this part of what its own weight gives it on a pool's CPUs, or more: it is so little
/// that it has only a few turns while it is watched.
const OF_WEIGHT: f64 = 0.25;
/// A pool job that sleeps half of the time has this part of its CPUs. It is less than a half by what its sleeps last too
/// long: on emulated CPUs a timer comes late, by 22 ms at the median, and that is nobody's CPU time. The kernel keeps 5 % of
/// each CPU from real-time tasks only where they want more.
const HALF: f64 = 0.45;
/// While it wants a CPU it has one for this part of the time, and on a host without enough cores.
const WANTED: [f64; 2] = [0.95, 0.9];

/// No more of its CPUs than this part go to neither kind of job: where few cores emulate many CPUs, daemons and the kernel
/// had a twentieth of them at the most.
const LOST: f64 = 0.08;

pub(crate) const SCENES: &[Scene] = &[
    Scene::new("Nobody", |here| meetings(here, Beside::Nobody)),
    Scene::new("Wide", |here| meetings(here, Beside::Wide)),
    Scene::new("Serial", |here| meetings(here, Beside::Serial)),
    Scene::new("half asleep", half_asleep),
    Scene::new("fifteen threads", fifteen),
];

/// Who runs beside the pool job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beside {
    Nobody,
    /// One job on all CPUs.
    Wide,
    /// A job on each CPU.
    Serial,
}

/// One pool job after another meets the same normal jobs.
fn meetings(here: &Here, beside: Beside) -> Told {
    let normal = fill(here, beside)?;
    let half = here.pool;
    let mut all = vec![(half, true), (half.min(4), true), (1, true)];
    // On a small machine the pool has no room for four.
    all.dedup();
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

fn meet(here: &Here, (asked, is_pool): (u32, bool), (beside, normal): (Beside, &[Job])) -> Told {
    let mut options = vec!["-pmulti8"];
    options.extend((!is_pool).then_some("--pool=none"));
    let pool = start(&here.cluster, &options, ("spin", asked, 1))?;
    let measured = watch(&pool, normal)?;
    let told = has_what_it_should(here, (&pool, asked, is_pool), normal);
    cancel(here, &pool)?;
    show(
        here,
        (if is_pool { here.class } else { "none" }, beside, asked),
        &measured,
    );
    told?;
    match is_pool {
        true => judge(here, (beside, asked), &measured),
        // Measured beside the others.
        false => Ok(()),
    }
}

/// Prints what was measured, and keeps it for the picture.
pub(crate) fn show(here: &Here, (class, beside, asked): (&str, Beside, u32), measured: &Measured) {
    let least = match beside {
        Beside::Nobody => 0.0,
        Beside::Wide | Beside::Serial => measured.least(),
    };
    println!("  {class}, {asked} CPUs: {}", measured.text());
    if beside != Beside::Nobody {
        println!(
            "  the normal job that has least has {least:.3} CPUs, {:.1} times as long as alone",
            slowdown(beside, least, here.cpus)
        );
    }
    let numbers = [
        measured.scaled(),
        least,
        measured.raw(),
        measured.lost(),
        measured.there,
    ];
    let beside = format!("{beside:?} {asked}");
    let numbers = numbers.map(|number| format!("{number:.4}")).join(" ");
    figures::add(&[class, &beside, &numbers]);
}

/// Whether each job has its weight, and the tasks of each are idle ones or not.
fn has_what_it_should(
    here: &Here,
    (pool, asked, is_pool): (&Job, u32, bool),
    normal: &[Job],
) -> Told {
    let others = here.others();
    let weight = match is_pool {
        true => here.weight_of(asked),
        false => others,
    };
    let found: Vec<_> = normal.iter().map(Job::weight).collect();
    println!("  weights {} and {found:?}", pool.weight());
    if pool.weight() != weight || found.iter().any(|found| *found != others) {
        return Err(format!("weights {weight} and {others} were expected"));
    }
    if pool.cpus().len() != asked as usize {
        return Err(format!("it has the CPUs {:?}", pool.cpus()));
    }
    let is_idle = here.class != "weight";
    // Beside idle tasks it need not weigh anything to go first.
    let stepds = if is_idle { 1 } else { HIGHEST };
    let found: Vec<_> = normal.iter().map(Job::weight_of_slurmstepd).collect();
    if found.iter().any(|found| *found != stepds) {
        return Err(format!("slurmstepds weigh {found:?}, and not {stepds}"));
    }
    match pool.is_idle() == (is_idle && !is_pool)
        && normal.iter().all(|job| job.is_idle() == is_idle)
    {
        true => Ok(()),
        false => Err("cpu.idle is not as expected".into()),
    }
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

fn judge(here: &Here, (beside, asked): (Beside, u32), measured: &Measured) -> Told {
    let (busy, quiet) = match here.class {
        // The kernel keeps 5 % for others, and the node's own daemons are among them.
        "realtime" => (0.90, 0.94),
        _ => (0.95, 0.99),
    };
    let ((delivered, name), wanted) = match beside {
        Beside::Nobody => ((measured.raw(), "raw"), quiet),
        Beside::Wide | Beside::Serial => (measured.judged(), busy),
    };
    println!("  judged: the {name} figure, {delivered:.3}");
    if measured.lost() > LOST * measured.asked {
        return Err("the pool's CPUs are lost to neither kind of job".into());
    }
    if delivered < wanted {
        return Err(format!(
            "delivered/asked {delivered:.3} ({name}) is below {wanted}"
        ));
    }
    keeps(here, (beside, asked), measured)
}

/// What a normal job keeps. The wide job's CPUs outside of the pool say nothing, so its part of the pool's counts: by
/// its weight that is far below 1 % of each.
fn keeps(here: &Here, (beside, asked): (Beside, u32), measured: &Measured) -> Told {
    let is_realtime = here.class == "realtime";
    let kept = if is_realtime { KEPT / 2.0 } else { KEPT };
    let (has, wanted) = match beside {
        Beside::Nobody => return Ok(()),
        Beside::Serial => (measured.least(), kept),
        Beside::Wide => {
            let of_pools = measured.there / f64::from(asked);
            let (own, others) = (
                f64::from(HIGHEST) / f64::from(here.pool),
                f64::from(here.others()) / f64::from(here.cpus),
            );
            let by_weight = others / (others + own);
            println!(
                "  the wide job keeps {of_pools:.4} of each of the pool job's CPUs; by its weight {by_weight:.4}"
            );
            match (is_realtime, asked == here.pool) {
                (true, _) => (of_pools, kept),
                (false, true) => (of_pools, by_weight * OF_WEIGHT),
                // On few CPUs it may have no turn at all meanwhile.
                (false, false) => return Ok(()),
            }
        }
    };
    match has >= wanted {
        true => Ok(()),
        false => Err(format!("a normal job has {has:.4} CPUs, below {wanted:.4}")),
    }
}

/// A pool job that sleeps half of the time has its CPUs when it wants them, and leaves the other half to the others.
fn half_asleep(here: &Here) -> Told {
    let normal = fill(here, Beside::Wide)?;
    let half = here.pool;
    let pool = start(&here.cluster, &["-pmulti8"], ("half", half, 1))?;
    let measured = watch(&pool, &normal)?;
    // What the daemons took is nobody's.
    let all = measured.own + measured.there;
    let (own, left, wanted) = (measured.own / all, measured.there / all, measured.wanted);
    println!(
        "  of its CPUs the pool has {own:.3}, the normal job {left:.3}; of the time in which it wanted one the pool \
         had one for {wanted:.3}; {:.3} CPUs went to neither",
        measured.lost()
    );
    if wanted < here.host.bound(WANTED[0], WANTED[1]) {
        return Err(format!("while it wants a CPU it has one for {wanted:.3}"));
    }
    match (HALF..0.56).contains(&own) {
        true => Ok(()),
        false => Err("neither has about half".into()),
    }
}

/// A program with fifteen threads for some CPUs uses these.
fn fifteen(here: &Here) -> Told {
    let half = here.pool;
    let words = ["-pmulti8", &format!("-c{half}")];
    let pool = start(&here.cluster, &words, ("spin", 1, 15))?;
    let used = watch(&pool, &[])?.own;
    println!("  fifteen threads on {half} CPUs use {used:.2}");
    match used <= f64::from(half) * 1.02 && used >= f64::from(half) * 0.9 {
        true => Ok(()),
        false => Err("they use others, or not all".into()),
    }
}
