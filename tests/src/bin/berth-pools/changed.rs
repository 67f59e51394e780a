//! The site's file or a setting of the kernel changes under running jobs: their weights follow the file, what was settled
//! when a step began stays, and steps that begin later are of the new class.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::thread::sleep;

use berth_host::cgroup::USUAL_WEIGHT;
use berth_tests::Cluster;

use crate::ended::within;
use crate::fences::{LOWERED, offline, on_the_first_cpu};
use crate::job::{self, Job, start};
use crate::scenes::Scene;
use crate::steps::LOOKED;
use crate::thread::threads;
use crate::{Here, Told, daemons, line_of};

/// From this setting on nothing keeps time for others, before Linux 6.12.
const THROTTLE: &str = "/proc/sys/kernel/sched_rt_runtime_us";

pub(crate) const SCENES: &[Scene] = &[
    Scene::new("pools that go and come", gone_and_back),
    Scene::new("another class", another_class),
    Scene::of(&["weight"], "an extern step alone", extern_alone),
    Scene::of(&["realtime"], "no throttle", unthrottled),
    Scene::of(&["realtime"], "a bound on real-time threads", bounded),
];

/// A job's weight, whether the tasks of its first step are idle ones, and their highest policy.
type Found = (u32, bool, u32);

fn found(job: &Job) -> Found {
    let all = threads(&job.processes());
    let policy = all.iter().map(|one| one.policy).max();
    (job.weight(), job.is_idle(), policy.unwrap_or_default())
}

/// A pool job of two CPUs and a serial normal one, and what the class gives to each.
fn both(here: &Here) -> Result<([Job; 2], [Found; 2]), String> {
    let normal = start(&here.cluster, &["-pnormal"], ("spin", 1, 1))?;
    let pool = start(&here.cluster, &["-pmulti8", "-c2"], ("spin", 1, 2))?;
    let jobs = [pool, normal];
    let given = [
        (here.weight_of(2), false, here.policy()),
        (here.others(), here.class != "weight", 0),
    ];
    have(&jobs, "before", given)?;
    Ok((jobs, given))
}

/// Waits until the jobs have this.
fn have(jobs: &[Job; 2], when: &str, wanted: [Found; 2]) -> Told {
    let now = || [found(&jobs[0]), found(&jobs[1])];
    let told = within(LOOKED, &format!("{when}: {wanted:?} was expected"), || {
        now() == wanted
    });
    println!("  {when}: weight, idle, policy {:?}", now());
    told
}

/// The site takes its pools away and gives them back while their jobs run.
fn gone_and_back(here: &Here) -> Told {
    let (jobs, given) = both(here)?;
    here.write_nothing();
    let without = given.map(|(_, idle, policy)| (USUAL_WEIGHT, idle, policy));
    let told = have(&jobs, "without pools", without).and_then(|()| {
        let member = start(&here.cluster, &["-pmulti8"], ("half", 1, 1))?;
        let found = found(&member);
        println!("  a job of its partition: {found:?}");
        match found == (USUAL_WEIGHT, false, 0) {
            true => Ok(()),
            false => Err("a job that begins then has something of a pool".into()),
        }
    });
    here.write(here.pool);
    told?;
    have(&jobs, "with the pools again", given)?;
    owns(here, 2)
}

fn owns(here: &Here, cpus: u64) -> Told {
    let status = here.status()?;
    match status.owned == cpus {
        true => Ok(()),
        false => Err(format!("{cpus} CPUs of the pool were expected: {status:?}")),
    }
}

/// The pool gets another class while its jobs run: theirs stays, and the next steps have the new one. Real-time tasks are
/// looked after until they end.
fn another_class(here: &Here) -> Told {
    let next = match here.class {
        "weight" => "idle",
        "idle" => "realtime",
        _ => "weight",
    };
    let _first = on_the_first_cpu(here)?;
    let (jobs, given) = both(here)?;
    here.write_line(&line_of(next, here.pool));
    let told = have(&jobs, next, given)
        .and_then(|()| steps_of(here, &jobs[0], next))
        .and_then(|()| match here.class {
            "realtime" => offline(here, &jobs[0], &jobs[0].cpus()),
            _ => Ok(()),
        });
    here.write(here.pool);
    told
}

/// A normal job and a step of the pool job that begin in the new class.
fn steps_of(here: &Here, pool: &Job, class: &str) -> Told {
    let normal = start(&here.cluster, &["-pnormal"], ("spin", 1, 1))?;
    let inside = format!("--jobid={}", pool.id);
    let _step = start(
        &here.cluster,
        &[&inside, "--overlap", "-c2"],
        ("half", 1, 1),
    )?;
    let all = threads(&pool.processes_of("step_1"));
    let is_realtime = !all.is_empty() && all.iter().all(|one| one.policy != 0);
    println!(
        "  a normal job's tasks are idle ones: {}; a step of the pool's has real-time tasks: {is_realtime}",
        normal.is_idle()
    );
    match (normal.is_idle(), is_realtime) == (class != "weight", class == "realtime") {
        true => Ok(()),
        false => Err(format!("they are not of the class {class}")),
    }
}

/// A job that no step has weighed yet: it has its extern step alone, as for who logs in with `pam_slurm_adopt`.
fn extern_alone(here: &Here) -> Told {
    let cluster = Cluster::builder()
        .example("pools")
        .set("PrologFlags=Contain")
        .up();
    let mut there = Here { cluster, ..*here };
    there.put(here.class);
    let cluster = &there.cluster;
    cluster.wait_idle();
    let words = ["--no-shell", "-pnormal", "-n1"];
    cluster.run("salloc", &words).expect_ok();
    let pool = start(cluster, &["-pmulti8", "-c2"], ("spin", 1, 2))?;
    let place = beside(&pool).ok_or("no job has its extern step alone")?;
    let weight = || fs::read_to_string(place.join("cpu.weight")).unwrap_or_default();
    let wanted = there.others().to_string();
    let told = within(LOOKED, "it has the usual weight", || {
        weight().trim() == wanted
    });
    println!(
        "  a job with its extern step alone: weight {}",
        weight().trim()
    );
    job::end_all(cluster);
    told
}

/// The folder of a job that has its extern step alone.
fn beside(pool: &Job) -> Option<PathBuf> {
    let all = fs::read_dir(pool.folder.parent()?).ok()?;
    let mut all = all.flatten().map(|entry| entry.path());
    all.find(|job| job.join("step_extern").is_dir() && !job.join("step_0").is_dir())
}

/// Somebody takes the kernel's throttle away while real-time tasks run. Where the kernel keeps time for others in another
/// way (from Linux 6.12 on) nothing changes.
fn unthrottled(here: &Here) -> Told {
    let before = fs::read_to_string(THROTTLE).map_err(|why| why.to_string())?;
    let (jobs, given) = both(here)?;
    let needs_it = !crate::wakes::is_from_6_12();
    let reads = here.reads();
    fs::write(THROTTLE, "-1").map_err(|why| why.to_string())?;
    let told = match needs_it {
        true => lowered(here, &jobs[0], reads),
        false => {
            sleep(LOOKED);
            have(&jobs, "without the throttle", given)
        }
    };
    fs::write(THROTTLE, before.trim()).map_err(|why| why.to_string())?;
    if needs_it {
        here.cluster.wait_for("the class again", || {
            (here.reads() > reads + 1).then_some(())
        });
    }
    told?;
    match is_realtime(here, &jobs[0])? {
        true => Ok(()),
        false => Err("the class has not come back".into()),
    }
}

/// slurmd has a bound on how long a real-time thread may run, which its children inherit: the kernel would end them. What
/// runs already has none.
fn bounded(here: &Here) -> Told {
    let (jobs, given) = both(here)?;
    // A minute: slurmd's own thread does not come near it.
    bound(here, "60000000:60000000")?;
    let told = refused(here, &jobs, given);
    bound(here, "unlimited:unlimited")?;
    here.write(here.pool);
    told?;
    match is_realtime(here, &jobs[0])? {
        true => Ok(()),
        false => Err("the class has not come back".into()),
    }
}

fn bound(here: &Here, to: &str) -> Told {
    for pid in daemons::slurmds(&here.cluster) {
        let words = ["--pid", &pid.to_string(), &format!("--rttime={to}")];
        let done = Command::new("prlimit").args(words).status();
        if !done.is_ok_and(|status| status.success()) {
            return Err(format!("prlimit {words:?} has failed"));
        }
    }
    Ok(())
}

fn refused(here: &Here, jobs: &[Job; 2], given: [Found; 2]) -> Told {
    // slurmd tries the class when it reads the file.
    here.write(here.pool);
    let log = here.cluster.slurmd_log();
    let line = log.lines().find(|line| line.contains("RLIMIT_RTTIME"));
    println!("  {}", line.unwrap_or_default());
    if line.is_none() {
        return Err("slurmd's log does not say why".into());
    }
    have(jobs, "with a bound", given)?;
    match is_realtime(here, &jobs[0])? {
        true => Err("a new step has real-time tasks".into()),
        false => Ok(()),
    }
}

/// Whether a new step of the pool job is a real-time one.
fn is_realtime(here: &Here, pool: &Job) -> Result<bool, String> {
    let inside = format!("--jobid={}", pool.id);
    let words = [&inside, "--overlap", "-n1", "sh", "-c", "chrt -p $$"];
    let done = here.cluster.srun(&words);
    println!("  another step: {}", done.stdout.trim().replace('\n', ", "));
    match done.ok() && done.stdout.contains("SCHED_") {
        true => Ok(done.stdout.contains("SCHED_RR")),
        false => Err(format!("another step: {done:#?}")),
    }
}

/// They become ordinary ones with an error line, and the pool is one of weights.
fn lowered(here: &Here, pool: &Job, reads: usize) -> Told {
    let says = "of a pool became ordinary threads: ";
    within(LOWERED, "no error line, or real-time tasks", || {
        found(pool).2 == 0 && here.cluster.slurmd_log().contains(says)
    })?;
    within(LOWERED, "the class is not refused", || here.reads() > reads)?;
    let log = here.cluster.slurmd_log();
    let line = log.lines().find(|line| line.contains(says));
    println!("  {}", line.unwrap_or_default());
    match is_realtime(here, pool)? {
        true => Err("a new step has real-time tasks".into()),
        false => Ok(()),
    }
}
