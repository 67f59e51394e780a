//! A pool job ends as jobs do: nothing of the pool stays on the node, and its account is complete.

use std::time::{Duration, Instant};

use crate::cancel::goes_first;
use crate::job::{Job, start};
use crate::scenes::Scene;
use crate::state::Accounted;
use crate::{Here, Told, daemons};

/// A job has ended within this time beyond its work, and slurmd has seen what it looks at every five seconds.
const ENDED: Duration = Duration::from_secs(120);
const LOOKED: Duration = Duration::from_secs(20);

pub(crate) const SCENES: &[Scene] = &[
    Scene::new("a normal end", ended),
    Scene::new("a normal end of a step", step_ended),
    Scene::new("two steps, one after the other", steps_counted),
];

/// A whole job: its folder goes.
fn ended(here: &Here) -> Told {
    let busy = start(&here.cluster, &["-pnormal"], ("talk", 1, 2))?;
    let counted = here.counted();
    let mut pool = start(&here.cluster, &["-pmulti8"], ("brief", here.pool, 1))?;
    owns(here, &pool, here.pool)?;
    has_gone_first(here, &busy)?;
    is_live(here, here.pool)?;
    pool.ends(ENDED)?;
    within(LOOKED, "the job's folder is there", || {
        !pool.folder.is_dir()
    })?;
    nothing_is_left(here, &busy)?;
    accounted(here, &pool, (here.pool, counted))?;
    felt(here, &busy)
}

/// What a normal job waited for below the pool is counted when it ends, as the kernel has it.
fn felt(here: &Here, busy: &Job) -> Told {
    let (before, waited) = (here.others_waited(), busy.waited()?);
    here.cluster.run("scancel", &[&busy.id]).expect_ok();
    let counted = within(LOOKED, "what the others waited is not counted", || {
        here.others_waited() >= before + waited
    });
    let after = here.others_waited();
    println!("  the busy job waited {waited:.3} s; counted before {before:.3}, after {after:.3}");
    match waited > 0.0 {
        true => counted,
        false => Err("the busy job has not waited, so nothing was seen".into()),
    }
}

/// The last step that was in the pool, of a job that goes on: when it started its pool was full.
fn step_ended(here: &Here) -> Told {
    let busy = start(&here.cluster, &["-pnormal"], ("talk", 1, 2))?;
    let counted = here.counted();
    here.write(1);
    let job = start(&here.cluster, &["-pmulti8", "-c2"], ("half", 1, 1));
    here.write(here.pool);
    let job = job?;
    let inside = format!("--jobid={}", job.id);
    let words = [&inside, "--overlap", "-c2"];
    let mut step = start(&here.cluster, &words, ("brief", 1, 2))?;
    owns(here, &job, 2)?;
    has_gone_first(here, &busy)?;
    step.ends(ENDED)?;
    within(
        LOOKED,
        "what lives of the job has the pool's weight",
        || job.weight() == here.others(),
    )?;
    if job.processes().is_empty() {
        return Err("nothing of the job lives, so nothing was seen".into());
    }
    nothing_is_left(here, &busy)?;
    accounted(here, &job, (2, counted))
}

/// A script's two steps, each of which works for as long as the other: the job has one line, with the time of both.
fn steps_counted(here: &Here) -> Told {
    let told = tempfile::tempdir().map_err(|why| why.to_string())?;
    let me = std::env::current_exe().map_err(|why| why.to_string())?;
    let (path, me, counted) = (told.path().display(), me.display(), here.counted());
    let step = format!("mkdir {path}/$step && srun -n1 -c2 {me} brief 2 {path}/$step");
    let script = format!("for step in 1 2; do {step}; done; echo job=$SLURM_JOB_ID");
    let done = here.cluster.sbatch(&["-pmulti8", "-c2"], &script);
    let job = done.output.trim().strip_prefix("job=");
    let line = line_of(here, job.ok_or_else(|| format!("{done:#?}"))?)?;
    println!(
        "  {line:?}; counted before {counted}, after {}",
        here.counted()
    );
    // One step's time alone is half of the job's time, at most.
    match line.asked == 2.0 && (1.2..2.1).contains(&line.delivered) && here.counted() == counted + 1
    {
        true => Ok(()),
        false => Err("both steps' time was expected in one line".into()),
    }
}

/// `berth status --pools` shows what the jobs have so far, and what those outside of the pool wait.
fn is_live(here: &Here, cpus: u32) -> Told {
    let cpus = f64::from(cpus);
    let holds = |delivered, waited| (cpus * 0.3..cpus * 1.05).contains(&delivered) && waited > 0.0;
    let now = || {
        let status = here.status().ok()?;
        status.delivered.zip(status.others_waited)
    };
    let what = "berth status --pools does not show what the jobs have";
    let told = within(LOOKED, what, || {
        now().is_some_and(|(delivered, waited)| holds(delivered, waited))
    });
    println!("  delivered, and what others wait in per cent: {:?}", now());
    told
}

/// The job is in its pool with so many CPUs, or its end would prove nothing.
fn owns(here: &Here, job: &Job, cpus: u32) -> Told {
    let status = here.status()?;
    let entries = here.ledger()?;
    println!(
        "  before: weight {}, {status:?}, {} entries in the ledger",
        job.weight(),
        entries.len()
    );
    match status.owned == u64::from(cpus)
        && status.jobs == 1
        && !entries.is_empty()
        && job.weight() == here.weight_of(cpus)
    {
        true => Ok(()),
        false => Err(format!("a pool job of {cpus} CPUs was expected")),
    }
}

/// The slurmstepd of a normal job below the pool was seen to go first.
pub(crate) fn has_gone_first(here: &Here, busy: &Job) -> Told {
    let stepd: u32 = busy.slurmstepd().parse().map_err(|_| "no slurmstepd")?;
    let what = "no thread of the busy job's slurmstepd goes first";
    within(LOOKED, what, || goes_first(&[stepd]))?;
    let all = daemons::slurmstepds(&here.cluster);
    println!("  slurmstepd {stepd} of {all:?} goes first");
    match all.contains(&stepd) {
        true => Ok(()),
        false => Err(format!("{stepd} is none of the slurmstepds {all:?}")),
    }
}

/// No pool job is on the node, and every slurmstepd is an ordinary process, also one that has work.
pub(crate) fn nothing_is_left(here: &Here, busy: &Job) -> Told {
    within(LOOKED, "a slurmstepd goes first", || {
        !goes_first(&daemons::slurmstepds(&here.cluster))
    })?;
    within(
        LOOKED,
        "slurmd's thread goes first without a pool job",
        || !daemons::watcher_goes_first(&here.cluster),
    )?;
    let lives = !busy.processes().is_empty() && !busy.slurmstepd().is_empty();
    let (status, entries) = (here.status()?, here.ledger()?);
    println!(
        "  after: {status:?}, {} entries in the ledger",
        entries.len()
    );
    if !lives {
        return Err("the busy job has gone, so nothing was seen".into());
    }
    match (status.owned, status.jobs, entries.is_empty()) {
        (0, 0, true) => Ok(()),
        _ => Err(format!("something of the pool is left: {entries:?}")),
    }
}

/// The job's line has numbers that can be true, and the counters have one job more.
fn accounted(here: &Here, job: &Job, (cpus, before): (u32, u64)) -> Told {
    let line = line_of(here, &job.id)?;
    let counted = here.counted();
    println!("  {line:?}; counted before {before}, after {counted}");
    let cpus = f64::from(cpus);
    // A step's start and end are in its time, and the half of a job that sleeps is none of a busy step's.
    let is_true = line.asked == cpus
        && (cpus * 0.3..cpus * 1.05).contains(&line.delivered)
        && (0.5..=1.0).contains(&line.run_share);
    match is_true && counted == before + 1 {
        true => Ok(()),
        false => Err("the job's account is not as expected".into()),
    }
}

fn line_of(here: &Here, job: &str) -> Result<Accounted, String> {
    let line = within_some(LOOKED, || here.accounted(job).transpose());
    line.ok_or("the job has no line in slurmd's log")?
}

/// Waits until `holds` is true, at most for this time. If it stays false, the error begins with `what`.
pub(crate) fn within(most: Duration, what: &str, holds: impl Fn() -> bool) -> Told {
    let held = within_some(most, || holds().then_some(()));
    held.ok_or_else(|| format!("{what}, still after {most:?}"))
}

fn within_some<T>(most: Duration, ask: impl Fn() -> Option<T>) -> Option<T> {
    let since = Instant::now();
    loop {
        let answer = ask();
        if answer.is_some() || since.elapsed() > most {
            return answer;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}
