//! Every daemon of the node is killed: nothing of a pool stays with what lives on.

use std::fs;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::cancel::{cancel, goes_first};
use crate::ended::{has_gone_first, nothing_is_left, within};
use crate::job::{Job, start};
use crate::scenes::Scene;
use crate::thread::threads;
use crate::{Here, Told, daemons, others_of};

/// slurmd looks every five seconds.
const LOWERED: Duration = Duration::from_secs(20);
/// slurmd is killed so often, if none went first then.
const KILLS: u32 = 5;
/// What a slurmd says that has found slurmstepds which went first.
const ORDINARY: &str = "of slurmstepds are ordinary ones again";

pub(crate) const SCENES: &[Scene] = &[
    Scene::new("a killed place", without_its_place),
    Scene::new("slurmd killed", slurmd_killed),
    Scene::new("everything killed", killed),
];

/// slurmd alone is killed, while it lets slurmstepds of normal jobs go first beside a busy pool: the next one looks
/// after them, and nobody goes first when the pool job has ended.
fn slurmd_killed(here: &Here) -> Told {
    let busy = start(&here.cluster, &["-pnormal"], ("talk", 1, 2))?;
    let pool = start(&here.cluster, &["-pmulti8"], ("spin", here.pool, 1))?;
    // One that goes first does so for moments.
    let mut had_gone = false;
    for _ in 0..KILLS {
        has_gone_first(here, &busy)?;
        had_gone = killed_slurmd(here)?;
        if had_gone {
            break;
        }
    }
    cancel(here, &pool)?;
    nothing_is_left(here, &busy)?;
    match had_gone {
        true => Ok(()),
        false => Err("no slurmstepd went first when slurmd was killed".into()),
    }
}

/// Kills slurmd and starts another, which takes back what it finds. Returns whether there was anything.
fn killed_slurmd(here: &Here) -> Result<bool, String> {
    let taken_back = || here.cluster.slurmd_log().matches(ORDINARY).count();
    let before = taken_back();
    daemons::kill(&here.cluster)?;
    let all = daemons::slurmstepds(&here.cluster);
    // Those that went first then do so for as long as there is no slurmd.
    let (had_gone, killed) = (goes_first(&all), Instant::now());
    here.restart();
    println!(
        "  slurmd was killed while one went first: {had_gone}; another looks after {:.1?}",
        killed.elapsed()
    );
    if had_gone {
        within(LOWERED, "the new slurmd has taken nothing back", || {
            taken_back() > before
        })?;
    }
    Ok(had_gone)
}

/// A job whose first step was a normal one's, because its pool was full: with the step that came in later goes what the
/// pool gave.
fn without_its_place(here: &Here) -> Told {
    here.write(1);
    let job = start(&here.cluster, &["-pmulti8", "-c2"], ("spin", 1, 1));
    here.write(here.pool);
    let job = job?;
    let outside = job.weight();
    let inside = format!("--jobid={}", job.id);
    let step = start(&here.cluster, &[&inside, "--overlap"], ("half", 1, 1))?;
    let with = job.weight();
    // slurmd has seen who holds the place.
    sleep(LOWERED / 2);
    let stepd = fs::read_to_string(job.folder.join("step_1/slurm/cgroup.procs"));
    let stepd = stepd.map_err(|why| why.to_string())?;
    kill(stepd.lines().next().unwrap_or_default());
    let since = Instant::now();
    while job.weight() != here.others() && since.elapsed() < LOWERED {
        sleep(Duration::from_millis(200));
    }
    let all = [outside, with, job.weight()];
    println!(
        "  outside, in, without its place: {all:?} after {:.1?}",
        since.elapsed()
    );
    for pid in step.processes_of("step_1") {
        kill(&pid.to_string());
    }
    let wanted = [others_of(1), here.weight_of(2), here.others()];
    match all == wanted {
        true => Ok(()),
        false => Err(format!("{wanted:?} were expected")),
    }
}

fn killed(here: &Here) -> Told {
    let normal = start(&here.cluster, &["-pnormal"], ("spin", 1, 1))?;
    let pool = start(&here.cluster, &["-pmulti8", "-c2"], ("spin", 1, 2))?;
    let all = [normal.processes(), pool.processes()].concat();
    let found = (pool.weight(), normal.is_idle(), policies(&pool));
    println!("  before: weight, idle, policies {found:?}");
    let is_given = found.0 == here.weight_of(2)
        && found.1 == (here.class != "weight")
        && found.2.iter().all(|policy| *policy == here.policy());
    if !is_given {
        return Err("the pool has given nothing that could stay".into());
    }
    for pid in [normal.slurmstepd(), pool.slurmstepd()] {
        kill(&pid);
    }
    daemons::kill(&here.cluster)?;
    here.cluster.restart_slurmd();
    daemons::is_back(&here.cluster);
    let told = here.cluster.srun(&["-pnormal", "true"]);
    println!("  the next launch: {:?}", told.code);
    let is_back = |job: &Job| {
        job.weight() == here.others() && !job.is_idle() && policies(job).iter().all(|one| *one == 0)
    };
    let since = Instant::now();
    while since.elapsed() < LOWERED && !(is_back(&normal) && is_back(&pool)) {
        sleep(Duration::from_millis(200));
    }
    let both = [&normal, &pool];
    let are_back = both.iter().all(|job| is_back(job));
    let alive = both.map(|job| job.processes().len());
    let found = (pool.weight(), normal.is_idle(), policies(&pool));
    println!(
        "  after: {alive:?} processes of the normal and of the pool job live; weight, idle, policies of the pool's \
         {found:?}"
    );
    for line in here
        .cluster
        .slurmd_log()
        .lines()
        .filter(|line| line.contains("its slurmstepd was killed"))
    {
        println!("  {line}");
    }
    for pid in all {
        kill(&pid.to_string());
    }
    match (alive.contains(&0), are_back) {
        (true, _) => Err("not both jobs have processes that live, so nothing was seen".into()),
        (_, false) => Err("a task has still what the pool gave".into()),
        _ => Ok(()),
    }
}

fn policies(job: &Job) -> Vec<u32> {
    threads(&job.processes())
        .iter()
        .map(|thread| thread.policy)
        .collect()
}

fn kill(pid: &str) {
    drop(Command::new("kill").args(["-9", pid]).status());
}
