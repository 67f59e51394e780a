//! As much as the pools may own is busy, and everything else too: how soon the node answers, beside the same load
//! without a pool.

use std::process::Command;
use std::time::{Duration, Instant};

use berth_tests::Done;

use crate::cancel::cancel;
use crate::job::start;
use crate::scenes::Scene;
use crate::shares::{Beside, fill};
use crate::steps::{SHOW, is_normal};
use crate::thread::list;
use crate::{Here, Told, figures, others_of};

/// A node with full pools answers within so many times what it takes without, and on a host without enough cores.
const SLOWER: [f64; 2] = [2.0, 4.0];
/// A normal job's step of a moment, on a CPU of a busy pool, has ended within this time; below real-time tasks the
/// figure is only printed.
const ENDED: f64 = 60.0;
/// Nobody waits for it any longer.
const NEVER: Duration = Duration::from_secs(300);

pub(crate) const SCENES: &[Scene] = &[
    Scene::new("full pools", full),
    Scene::new("all CPUs", all_cpus),
];

/// The pool may have so many CPUs, whatever the example's partition says, while something is played.
fn widened<T>(here: &Here, play: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    // The example's limit is for its own machine.
    let unlimited = ["update", "PartitionName=multi8", "MaxCPUsPerNode=UNLIMITED"];
    here.cluster.scontrol(&unlimited).expect_ok();
    here.write(here.cpus);
    let told = play();
    here.write(here.pool);
    told
}

fn full(here: &Here) -> Told {
    // The first CPU stays free for a bystander in the normal partition: jobs of one partition share none.
    let first = start(&here.cluster, &["-pnormal"], ("half", 1, 1))?;
    let most = here.cpus - 1;
    let _normal = start(&here.cluster, &["-pnormal"], ("spin", most, 2))?;
    cancel(here, &first)?;
    let [without, with] = widened(here, || {
        let told = |is_pool: bool| {
            let words = ["-pmulti8", "--pool=none"];
            let words = if is_pool { &words[..1] } else { &words[..] };
            let job = start(&here.cluster, words, ("spin", most, 1))?;
            let answers = answers(here, is_pool, &job.cpus())?;
            cancel(here, &job)?;
            Ok::<_, String>(answers)
        };
        Ok([told(false)?, told(true)?])
    })?;
    let names = [
        "scontrol-ping",
        "login-shell",
        "srun",
        "normal-srun-below-the-pool",
    ];
    let mut told = Ok(());
    for (at, ((name, without), with)) in names.iter().zip(without).zip(with).enumerate() {
        let text = format!("{name} {with:.2} s, beside no pool {without:.2} s");
        println!("  {most} CPUs of pools: {text}");
        let seconds = format!("{with:.3} {without:.3}");
        figures::add(&["full", here.class, name, &seconds]);
        let limit = match at {
            3 => ENDED,
            _ => without * here.host.bound(SLOWER[0], SLOWER[1]),
        };
        // Below real-time tasks the figure is only printed.
        if here.class != "realtime" && with > limit {
            told = Err(text);
        }
    }
    told
}

/// The time of `scontrol ping`, of a login shell, and of a bystander's srun on the reserved core: the middle one of
/// three each, in seconds. And once that of a bystander's on a CPU of the pool.
fn answers(here: &Here, is_pool: bool, own: &[u32]) -> Result<[f64; 4], String> {
    let timed = |one: &dyn Fn() -> Told| -> Result<f64, String> {
        let since = Instant::now();
        one()?;
        Ok(since.elapsed().as_secs_f64())
    };
    let middle = |one: &dyn Fn() -> Told| -> Result<f64, String> {
        let mut all = [timed(one)?, timed(one)?, timed(one)?];
        all.sort_by(f64::total_cmp);
        Ok(all[1])
    };
    let ping = || {
        here.cluster.scontrol(&["ping"]).expect_ok();
        Ok(())
    };
    let shell = || {
        let done = Command::new("sh").args(["-lc", "/bin/true; exit"]).status();
        match done.is_ok_and(|done| done.success()) {
            true => Ok(()),
            false => Err("no login shell".to_owned()),
        }
    };
    // The last core is the reserve: a pool job there is a normal one.
    let srun = || {
        let done = here.cluster.srun(&["-pmulti8", "-n1", "true"]);
        match done.ok() && (!is_pool || done.stderr.contains("runs as a normal job")) {
            true => Ok(()),
            false => Err(format!("{done:#?}")),
        }
    };
    let below = || below(here, own);
    Ok([
        middle(&ping)?,
        middle(&shell)?,
        middle(&srun)?,
        timed(&below)?,
    ])
}

/// A bystander's srun in the normal partition. It shows its CPUs, which must be the pool's.
fn below(here: &Here, own: &[u32]) -> Told {
    let mut srun = here.cluster.program("timeout");
    srun.arg(NEVER.as_secs().to_string());
    srun.args(["srun", "-pnormal", "-n1"]);
    srun.args(["grep", "Cpus_allowed_list", "/proc/self/status"]);
    let done = Done::from(srun.output().map_err(|why| why.to_string())?);
    let cpus = list(done.stdout.rsplit('\t').next().unwrap_or_default());
    match done.ok() && !cpus.is_empty() && cpus.iter().all(|cpu| own.contains(cpu)) {
        true => Ok(()),
        false => Err(format!(
            "a step on the CPUs {own:?} was expected: {done:#?}"
        )),
    }
}

/// A job that asks for all CPUs of the node in the pool's partition is a normal one, with a note, for the reserve is
/// nobody's; also on a full node, and beside no other pool job.
fn all_cpus(here: &Here) -> Told {
    let _normal = fill(here, Beside::Wide)?;
    let tasks = format!("-n{}", here.cpus);
    let done = widened(here, || {
        let words = ["-pmulti8", &tasks, "sh", "-c", SHOW];
        Ok(here.cluster.srun(&words))
    })?;
    let note = "runs as a normal job";
    println!(
        "  {} tasks, note: {}",
        here.cpus,
        done.stderr.contains(note)
    );
    let others = others_of(here.cpus);
    match done.ok()
        && done.stderr.contains(note)
        && is_normal(&done.stdout, others, here.cpus as usize)
    {
        true => Ok(()),
        false => Err(format!(
            "{} tasks with the weight {others} were expected: {done:#?}",
            here.cpus
        )),
    }
}
