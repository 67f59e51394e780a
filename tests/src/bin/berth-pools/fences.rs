//! Real-time tasks stay on the CPUs of their job, and are ordinary ones where nothing holds them there.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::cancel::RR;
use crate::daemons::{watcher_goes_first, watchers_times};
use crate::ended::within;
use crate::job::{self, Job, start, start_as_user};
use crate::scenes::Scene;
use crate::thread::{Thread, threads};
use crate::{Here, Told};

/// A real-time thread out of its job is an ordinary one within this time; slurmd looks every five seconds.
pub(crate) const LOWERED: Duration = Duration::from_secs(20);

/// slurmd's thread looks for jobs of pools within this time.
const LOOKED: Duration = Duration::from_secs(10);
/// What is real-time on all CPUs that are left is so for this time at most: slurmd's thread goes before it.
const INSIDE: Duration = Duration::from_secs(10);

pub(crate) const SCENES: &[Scene] = &[
    Scene::new("behind its fence", kept),
    Scene::of(&["realtime"], "behind its own fence", own_fence),
    Scene::of(&["realtime"], "a user's bounds", users),
    Scene::of(&["realtime"], "out of its job", left),
];

/// A task that widens its affinity, asks for a higher priority, forks twice and leaves its session.
fn kept(here: &Here) -> Told {
    let _first = on_the_first_cpu(here)?;
    let job = start(&here.cluster, &["-pmulti8", "-c2"], ("escape", 1, 4))?;
    is_behind(here, &job, &job.cpus())?;
    match here.class {
        "realtime" => offline(here, &job, &job.cpus()),
        _ => Ok(()),
    }
}

/// A job outside of the pool for the first CPU, which cannot go offline: the next one in the partition has others.
pub(crate) fn on_the_first_cpu(here: &Here) -> Result<Job, String> {
    let words = ["-pmulti8", "--pool=none"];
    start(&here.cluster, &words, ("half", 1, 1))
}

/// The same where Slurm confines no step to its CPUs and binds no task: the fence is berth's.
fn own_fence(here: &Here) -> Told {
    let file = here.cluster.folder().join("etc/cgroup.conf");
    let with = fs::read_to_string(&file).map_err(|why| why.to_string())?;
    let without = with.replace("ConstrainCores=yes", "ConstrainCores=no");
    if without == with {
        return Err("the example does not have ConstrainCores=yes any more".into());
    }
    fs::write(&file, without).map_err(|why| why.to_string())?;
    here.restart();
    let told = unconstrained(here);
    job::end_all(&here.cluster);
    fs::write(&file, with).map_err(|why| why.to_string())?;
    here.restart();
    told
}

fn unconstrained(here: &Here) -> Told {
    let _first = on_the_first_cpu(here)?;
    let words = ["-pmulti8", "-c2", "--cpu-bind=none"];
    let job = start(&here.cluster, &words, ("escape", 1, 4))?;
    let (own, slurms) = (here.recorded_cpus(&job.id), job.cpus());
    println!("  Slurm confines the job to {slurms:?}");
    // Where Slurm confines nobody, a job's cgroup may have no list of CPUs.
    let is_confined = !slurms.is_empty() && slurms.len() < here.cpus as usize;
    if own.len() != 2 || is_confined {
        return Err(format!(
            "a job of two CPUs that Slurm does not confine was expected, not one of {own:?}"
        ));
    }
    is_behind(here, &job, &own)?;
    offline(here, &job, &own)
}

/// Whether each thread of the job is on its CPUs, and its program has tried to leave them.
fn is_behind(here: &Here, job: &Job, own: &[u32]) -> Told {
    let all = threads(&job.processes());
    println!("  job on {own:?}, weight {}: {all:?}", job.weight());
    if job.weight() != here.weight_of(2) {
        return Err("it is no job of the pool".into());
    }
    let told = |name| fs::read_to_string(job.told.join(name)).unwrap_or_default();
    // The kernel leaves of the wider affinity what the fence has.
    for name in ["widened", "widened-again"] {
        let told = told(name);
        if told != "yes" {
            return Err(format!("taskset, {name}: {told:?}"));
        }
    }
    // The experiment runs as root, who may have what he asks for; a user may not.
    let higher = told("higher");
    if !["yes", "no"].contains(&higher.as_str()) {
        return Err(format!("chrt: {higher:?}"));
    }
    let wanted = match here.policy() == RR || higher == "yes" {
        true => RR,
        false => 0,
    };
    let outside = all
        .iter()
        .any(|thread| thread.cpus.iter().any(|cpu| !own.contains(cpu)));
    // The program, and five threads of the daemon's child.
    if all.len() < 6 || outside || all.iter().any(|thread| thread.policy != wanted) {
        return Err(format!(
            "policy {wanted} on {own:?} was expected of each of six threads"
        ));
    }
    Ok(())
}

/// Every CPU of the job goes offline: the kernel lets its tasks run on those of others.
pub(crate) fn offline(here: &Here, job: &Job, own: &[u32]) -> Told {
    let switch = |to: &str| {
        let files = own
            .iter()
            .map(|cpu| format!("/sys/devices/system/cpu/cpu{cpu}/online"));
        files.map(|file| fs::write(file, to)).collect::<Vec<_>>()
    };
    within(
        LOOKED,
        "slurmd's thread goes behind the pool's tasks",
        || watcher_goes_first(&here.cluster),
    )?;
    let was_realtime = threads(&job.processes()).iter().all(|one| one.policy == RR);
    let before = watchers_times(&here.cluster);
    let switched = switch("0");
    let since = Instant::now();
    let is_left = || {
        let all = threads(&job.processes());
        all.iter().any(|thread| thread.policy == RR)
    };
    while is_left() && since.elapsed() < INSIDE {
        std::thread::sleep(Duration::from_millis(100));
    }
    let all = threads(&job.processes());
    let after = watchers_times(&here.cluster);
    let told = format!(
        "CPUs {own:?} offline ({switched:?}): after {:.1?} {all:?}; slurmd's thread had run and waited for {before:.1?} then, and {after:.1?} now",
        since.elapsed()
    );
    println!("  {told}");
    drop(switch("1"));
    let is_switched = switched.iter().all(Result::is_ok);
    let is_ordinary = !all.is_empty() && all.iter().all(|thread| thread.policy != RR);
    match was_realtime && is_switched && is_ordinary {
        true => Ok(()),
        false => Err(told),
    }
}

/// A user's task has the lowest real-time priority, and no way to a higher one: not by asking, and not by programs
/// that give rights.
fn users(here: &Here) -> Told {
    open_to_users(here);
    let job = start_as_user(&here.cluster, &["-pmulti8", "-D/"], ("escape", 1, 1))?;
    let higher = fs::read_to_string(job.told.join("higher")).unwrap_or_default();
    let all = job.processes();
    let of = |pid: &u32, file: &str, line: &str| {
        let text = fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
        let found = text.lines().find_map(|one| one.strip_prefix(line));
        found.map(|rest| {
            rest.split_whitespace()
                .map(String::from)
                .collect::<Vec<_>>()
        })
    };
    let words = |text: &str| Some(text.split(' ').map(String::from).collect::<Vec<_>>());
    let is_bounded = |pid: &u32| {
        of(pid, "limits", "Max realtime priority") == words("0 0")
            && of(pid, "status", "NoNewPrivs:") == words("1")
            && of(pid, "status", "Uid:") == words("65534 65534 65534 65534")
    };
    let threads = threads(&all);
    println!(
        "  as a user: {} processes, higher: {higher}, {threads:?}",
        all.len()
    );
    let is_lowest = |thread: &Thread| (thread.policy, thread.priority) == (RR, 1);
    match !all.is_empty()
        && higher == "no"
        && all.iter().all(is_bounded)
        && threads.iter().all(is_lowest)
    {
        true => Ok(()),
        false => Err("a user's task is not bounded".into()),
    }
}

pub(crate) fn open_to_users(here: &Here) {
    let everybody = ["update", "PartitionName=multi8", "AllowGroups=ALL"];
    here.cluster.scontrol(&everybody).expect_ok();
}

/// What a user's own service manager can have the system's do: his process is taken out of its job.
fn left(here: &Here) -> Told {
    open_to_users(here);
    let job = start_as_user(&here.cluster, &["-pmulti8", "-D/"], ("half", 1, 2))?;
    let all = job.processes();
    let is_realtime = |all: &[u32]| threads(all).iter().any(|thread| thread.policy == RR);
    if !is_realtime(&all) {
        return Err("its task is no real-time one".into());
    }
    // Below his own he may name a folder by any bytes.
    let place = Path::new("/sys/fs/cgroup/user.slice/taken.scope").join(OsStr::from_bytes(b"\xff"));
    fs::create_dir_all(&place).map_err(|why| why.to_string())?;
    for pid in &all {
        let moved = fs::write(place.join("cgroup.procs"), pid.to_string());
        moved.map_err(|why| why.to_string())?;
    }
    let since = Instant::now();
    while is_realtime(&all) && since.elapsed() < LOWERED {
        std::thread::sleep(Duration::from_millis(100));
    }
    let (left, alive) = (is_realtime(&all), threads(&all).len());
    println!(
        "  {alive} threads in {}, ordinary ones after {:.1?}: {}",
        place.display(),
        since.elapsed(),
        !left
    );
    for pid in &all {
        let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
    }
    match (left, alive) {
        (false, 1..) => Ok(()),
        (true, _) => Err("they keep their priority".into()),
        (false, 0) => Err("nobody was there to be lowered".into()),
    }
}
