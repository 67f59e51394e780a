//! The same jobs on a node without any pools, where each job has the kernel's usual weight: what pools change. And a node
//! without weights, where the tasks of normal jobs are nice.

use std::fs;

use berth_tests::Cluster;

use crate::cancel::cancel;
use crate::job::{Job, start};
use crate::measured::watch;
use crate::scenes::Scene;
use crate::shares::{Beside, fill, show};
use crate::{Here, Told};

/// What the kernel gives each group.
const USUAL: u32 = 100;

pub(crate) const SCENES: &[Scene] = &[
    Scene::of(&["weight"], "no pools, beside Wide", |here| {
        without(here, Beside::Wide)
    }),
    Scene::of(&["weight"], "no pools, beside Serial", |here| {
        without(here, Beside::Serial)
    }),
    Scene::of(&["weight"], "nice without weights", nice),
];

/// Whether niceness counts within each session alone, where tasks are in no cgroup with a weight.
const SESSIONS: &str = "/proc/sys/kernel/sched_autogroup_enabled";
/// Prints a task's niceness.
const SHOW: [&str; 4] = ["-n1", "sh", "-c", "cut -d' ' -f19 /proc/$$/stat"];

fn without(here: &Here, beside: Beside) -> Told {
    here.write_nothing();
    let told = measured(here, beside);
    here.write(here.pool);
    told
}

/// Without Slurm's own cgroups there is nothing to weigh.
fn nice(here: &Here) -> Told {
    let before = fs::read_to_string(SESSIONS).map_err(|why| why.to_string())?;
    fs::write(SESSIONS, "0").map_err(|why| why.to_string())?;
    let told = nicenesses(here);
    fs::write(SESSIONS, before.trim()).map_err(|why| why.to_string())?;
    println!("  niceness of a pool's task and of a normal one: {told:?}");
    match told == ["0", "19"] {
        true => Ok(()),
        false => Err("the tasks of normal jobs, and those alone, were expected to be nice".into()),
    }
}

fn nicenesses(here: &Here) -> [String; 2] {
    let cluster = Cluster::builder()
        .example("pools")
        .task_plugin("task/berth")
        .set("ProctrackType=proctrack/pgid")
        .up();
    let mut there = Here { cluster, ..*here };
    there.put(here.class);
    let step = |partition| {
        let done = there.cluster.srun(&[&[partition][..], &SHOW].concat());
        done.expect_ok().trim().to_owned()
    };
    ["-pmulti8", "-pnormal"].map(step)
}

fn measured(here: &Here, beside: Beside) -> Told {
    let normal = fill(here, beside)?;
    let job = start(&here.cluster, &["-pmulti8"], ("spin", here.pool, 1))?;
    let measured = watch(&job, &normal)?;
    let weights: Vec<_> = normal.iter().chain([&job]).map(Job::weight).collect();
    cancel(here, &job)?;
    show(here, ("bare", beside, here.pool), &measured);
    match weights.iter().all(|weight| *weight == USUAL) {
        true => Ok(()),
        false => Err(format!("{USUAL} was expected of each weight: {weights:?}")),
    }
}
