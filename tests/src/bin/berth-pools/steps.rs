//! What a job has stays: with other steps, for a script's children, in arrays and heterogeneous jobs, through
//! suspension, restarts and other files.

use std::fs;
use std::time::Duration;

use berth_tests::Cluster;

use crate::ended::within;
use crate::job::{Job, start};
use crate::scenes::Scene;
use crate::thread::threads;
use crate::{Here, Told, daemons, others_of};

/// So long a slurmd may take to start itself again.
const RECONFIGURED: Duration = Duration::from_secs(10);
/// Every slurmd has looked at its files within this time.
pub(crate) const LOOKED: Duration = Duration::from_secs(10);
/// Two jobs that wait for each other have met within this time, or have given up.
const MET: Duration = Duration::from_secs(300);

pub(crate) const SCENES: &[Scene] = &[
    Scene::new("kept by steps and suspension", kept),
    Scene::new("script", script),
    Scene::new("array", array),
    Scene::new("heterogeneous job", heterogeneous),
];

/// Other steps, children of a script, suspension, and another file leave the job what it has.
fn kept(here: &Here) -> Told {
    let normal = start(&here.cluster, &["-pnormal"], ("spin", 1, 1))?;
    let job = start(&here.cluster, &["-pmulti8", "-c2"], ("spin", 1, 2))?;
    let cluster = &here.cluster;
    let id = format!("--jobid={}", job.id);
    let is = |job: &Job| {
        (
            job.weight(),
            job.is_idle(),
            threads(&job.processes()).iter().map(|one| one.policy).max(),
        )
    };
    let both = || (is(&job), is(&normal));
    let step = || cluster.srun(&[&id, "--overlap", "-n1", "true"]).expect_ok();
    let mut all = vec![both()];
    step();
    all.push(both());
    suspended(here, &job)?;
    all.push(both());
    cluster.restart_slurmd();
    daemons::is_back(cluster);
    step();
    all.push(both());
    cluster.scontrol(&["reconfigure"]).expect_ok();
    // Newer slurmds start themselves again then, and Slurm loses a launch that comes meanwhile.
    std::thread::sleep(RECONFIGURED);
    step();
    all.push(both());
    println!("  weight, idle, policy of the pool's and of the normal job: {all:?}");
    let policy = Some(here.policy());
    let wanted = (
        (here.weight_of(2), false, policy),
        (here.others(), here.class != "weight", Some(0)),
    );
    if all.iter().any(|one| *one != wanted) {
        return Err(format!("{wanted:?} was expected each time"));
    }
    changed(here, (&job, &normal), &step)
}

/// Suspends a job of two CPUs and resumes it. Its pool, which has no room otherwise, has some meanwhile.
fn suspended(here: &Here, job: &Job) -> Told {
    let cpus = here.pool - 1;
    let (each, wanted) = (format!("-c{cpus}"), format!("NCPUS={cpus}."));
    let words = ["-pmulti8", "-n1", &each, "sh", "-c", "echo NCPUS=$NCPUS."];
    let comes_in = || here.cluster.srun(&words).stdout.contains(&wanted);
    if comes_in() {
        return Err("the pool has room before the job is suspended".into());
    }
    here.cluster.scontrol(&["suspend", &job.id]).expect_ok();
    let what = "the pool has no room beside a suspended job";
    let told = within(LOOKED, what, comes_in).and_then(|()| shown(here, (0, 0, 1)));
    here.cluster.scontrol(&["resume", &job.id]).expect_ok();
    told?;
    shown(here, (2, 1, 0))
}

/// `berth status --pools` has so many owned CPUs, running jobs and suspended ones.
fn shown(here: &Here, wanted: (u64, usize, usize)) -> Told {
    let now = || {
        let status = here.status().ok()?;
        Some((status.owned, status.jobs, status.suspended))
    };
    let what = format!("berth status --pools shows {:?}", now());
    within(LOOKED, &what, || now() == Some(wanted))
}

/// A pool that is twice as wide has other weights: those of jobs that run follow the file, without a step of theirs.
fn changed(here: &Here, (job, normal): (&Job, &Job), step: &dyn Fn() -> String) -> Told {
    let now = || (job.weight(), normal.weight());
    let own = here.weight_of(2);
    for (cpus, wanted) in [
        (here.pool * 2, (own / 2, others_of(here.pool * 2))),
        (here.pool, (own, here.others())),
    ] {
        here.write(cpus);
        let what = format!("a pool of {cpus} CPUs, and the weights {:?}", now());
        within(LOOKED, &what, || now() == wanted)?;
        step();
        println!("  a pool of {cpus} CPUs: weights {:?}", now());
        if now() != wanted {
            return Err(format!("{wanted:?} was expected after the step too"));
        }
    }
    Ok(())
}

/// Prints its policy and its job's weight.
pub(crate) const SHOW: &str = "chrt -p $$; grep -h . /sys/fs/cgroup$(sed 's/^0:://;s,/step_.*,,' /proc/self/cgroup)/cpu.weight";

/// Whether such lines are those of so many processes of a pool job of so many CPUs.
fn is_of_pool(here: &Here, output: &str, (cpus, processes): (u32, usize)) -> bool {
    let weight = here.weight_of(cpus).to_string();
    let of = |ending: &str| output.lines().filter(|line| line.ends_with(ending)).count();
    let realtime = match here.class {
        "realtime" => processes,
        _ => 0,
    };
    (of(&weight), of("SCHED_RR")) == (processes, realtime)
}

/// Whether such lines are those of so many tasks of a normal job with this weight.
pub(crate) fn is_normal(output: &str, others: u32, tasks: usize) -> bool {
    let others = others.to_string();
    let all = output.lines().filter(|line| *line == others).count();
    all == tasks && !output.contains("SCHED_RR")
}

/// A script's child, and one step after the other.
fn script(here: &Here) -> Told {
    let step = "srun -n1 -c2 sh -c \"$show\"";
    let script =
        format!("show=$(cat <<'END'\n{SHOW}\nEND\n)\n(eval \"$show\") & wait\n{step}\n{step}\n");
    let done = here.cluster.sbatch(&["-pmulti8", "-c2"], &script);
    println!("  a script and two steps: {:?}", done.output);
    match is_of_pool(here, &done.output, (2, 3)) {
        true => Ok(()),
        false => Err(format!("{done:#?}")),
    }
}

/// Two jobs of an array, which are in the pool at once: each waits until the other has begun.
fn array(here: &Here) -> Told {
    let folder = tempfile::tempdir().map_err(|why| why.to_string())?;
    let path = folder.path().display();
    let script = format!(
        "{SHOW}; touch {path}/$SLURM_ARRAY_TASK_ID; \
         for second in $(seq 120); do [ -e {path}/1 ] && [ -e {path}/2 ] && break; sleep 1; done; \
         [ -e {path}/1 ] && [ -e {path}/2 ] && echo met; touch {path}/end.$SLURM_ARRAY_TASK_ID; \
         while [ ! -e {path}/end ]; do sleep 1; done"
    );
    let output = format!("-o{path}/out.%a");
    // Both fit into the pool.
    let cpus = (here.pool / 2).min(2);
    let each = format!("-c{cpus}");
    let words = ["-pmulti8", &each, "--array=1-2", &output, "--wrap", &script];
    here.cluster.run("sbatch", &words).expect_ok();
    within(MET, "the jobs of the array do not run", || {
        let ended = |id| folder.path().join(format!("end.{id}")).exists();
        ended(1) && ended(2)
    })?;
    let status = here.status();
    fs::write(folder.path().join("end"), "").map_err(|why| why.to_string())?;
    let read = |id| fs::read_to_string(folder.path().join(format!("out.{id}"))).unwrap_or_default();
    let all = [read(1), read(2)];
    println!("  an array: {all:?}, {status:?}");
    // The scripts end before their folder goes.
    within(MET, "the jobs of the array run", || {
        let left = here.cluster.run("squeue", &["-h"]).stdout;
        left.trim().is_empty()
    })?;
    let met = |text: &String| text.lines().any(|line| line == "met");
    let is_in = |text: &String| is_of_pool(here, text, (cpus, 1)) && met(text);
    let status = status?;
    match all.iter().all(is_in) && (status.owned, status.jobs) == (u64::from(cpus) * 2, 2) {
        true => Ok(()),
        false => Err("two jobs in the pool at once were expected".into()),
    }
}

/// The components of a heterogeneous job, one of them in the pool. Slurm puts no two on one node.
fn heterogeneous(here: &Here) -> Told {
    let cluster = Cluster::builder()
        .example("pools")
        .nodes(2)
        .set("SchedulerParameters=batch_sched_delay=0,bf_hetjob_immediate,bf_interval=1")
        .up();
    let mut there = Here { cluster, ..*here };
    // Each slurmd begins to look at its file with its first launch.
    let everywhere = ["-pnormal", "-N2", "true"];
    there.cluster.srun(&everywhere).expect_ok();
    there.put(here.class);
    std::thread::sleep(LOOKED);
    let first = ["-l", "-t5", "-pmulti8", "-n1", "-c2", "sh", "-c", SHOW, ":"];
    let second = ["-t5", "-pnormal", "-n1", "sh", "-c", SHOW];
    let done = there.cluster.srun(&[&first[..], &second].concat());
    println!("  a heterogeneous job: {:?}", done.stdout);
    let of = |rank: &str| -> String {
        let lines = done.stdout.lines().filter(|line| line.starts_with(rank));
        lines.map(|line| format!("{line}\n")).collect()
    };
    let others = format!(" {}", there.others());
    let normal = of("1:");
    let is_normal =
        normal.lines().any(|line| line.ends_with(&others)) && !normal.contains("SCHED_RR");
    match done.ok() && is_of_pool(&there, &of("0:"), (2, 1)) && is_normal {
        true => Ok(()),
        false => Err(format!("{done:#?}")),
    }
}
