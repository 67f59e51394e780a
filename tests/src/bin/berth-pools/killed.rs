//! Every daemon of the node is killed: nothing of a pool stays with what lives on.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use berth_tests::process;

use crate::job::{Job, start, threads};
use crate::{Count, Here, Told, others_of};

/// slurmd looks every five seconds.
const LOWERED: Duration = Duration::from_secs(20);

pub(crate) fn all(here: &Here, count: &mut Count) {
    count.play(here, "a killed place", || without_its_place(here));
    count.play(here, "everything killed", || killed(here));
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
    thread::sleep(LOWERED / 2);
    let stepd = fs::read_to_string(job.folder.join("step_1/slurm/cgroup.procs"));
    let stepd = stepd.map_err(|why| why.to_string())?;
    kill(stepd.lines().next().unwrap_or_default());
    let since = Instant::now();
    while job.weight() != here.others() && since.elapsed() < LOWERED {
        thread::sleep(Duration::from_millis(200));
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
    for pid in [normal.slurmstepd(), pool.slurmstepd()] {
        kill(&pid);
    }
    let folder = here.cluster.folder().to_string_lossy().into_owned();
    for slurmd in ["slurmd", "slurmd-wlm"] {
        for pid in process::find(slurmd, &folder) {
            kill(&pid.to_string());
        }
    }
    here.cluster.restart_slurmd();
    here.cluster.wait_for("slurmd", || {
        (here.cluster.sinfo_state() != "down").then_some(())
    });
    let told = here.cluster.srun(&["-pnormal", "true"]);
    println!("  the next launch: {:?}", told.code);
    let is_back = |job: &Job| {
        let is_gone = job.processes().is_empty();
        is_gone
            || (job.weight() == here.others()
                && !job.is_idle()
                && policies(job).iter().all(|one| *one == 0))
    };
    let mut left = 100;
    while left > 0 && !(is_back(&normal) && is_back(&pool)) {
        thread::sleep(Duration::from_millis(200));
        left -= 1;
    }
    let alive = pool.processes().len();
    let found = (pool.weight(), normal.is_idle(), policies(&pool));
    println!("  after: {alive} processes of the pool job live; weight, idle, policies {found:?}");
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
    match left > 0 {
        true => Ok(()),
        false => Err("a task has still what the pool gave".into()),
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
