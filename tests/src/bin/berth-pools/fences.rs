//! Real-time tasks stay on the CPUs of their job, and are ordinary ones where nothing holds them there.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::job::{Job, Thread, start, start_as_user, threads};
use crate::promises::RR;
use crate::{Here, Told};

/// A real-time thread out of its job is an ordinary one within this time; slurmd looks every five seconds.
const LOWERED: Duration = Duration::from_secs(20);

/// A task that widens its affinity, asks for a higher priority, forks and leaves its session.
pub(crate) fn kept(here: &Here) -> Told {
    // The first CPU cannot go offline.
    let _first = start(&here.cluster, &["-pmulti8"], ("half", 1, 1))?;
    let job = start(&here.cluster, &["-pmulti8", "-c2"], ("escape", 1, 4))?;
    let own = job.cpus();
    let all = threads(&job.processes());
    println!("  job on {own:?}: {all:?}");
    let outside = all
        .iter()
        .find(|thread| thread.cpus.iter().any(|cpu| !own.contains(cpu)));
    // The experiment runs as root, who may have what he asks for; the hostile client may not.
    let higher = fs::read_to_string(job.told.join("higher")).unwrap_or_default();
    let wanted = if here.class == "realtime" || higher == "yes" {
        RR
    } else {
        0
    };
    // The program, and five threads of the one that left.
    if all.len() < 6 || outside.is_some() || all.iter().any(|thread| thread.policy != wanted) {
        return Err(format!(
            "policy {wanted} on {own:?} was expected of each thread"
        ));
    }
    match here.class {
        "realtime" => offline(&job),
        _ => Ok(()),
    }
}

/// Every CPU of the job goes offline: the kernel lets its tasks run on those of others.
fn offline(job: &Job) -> Told {
    let own = job.cpus();
    let switch = |to: &str| {
        let files = own
            .iter()
            .map(|cpu| format!("/sys/devices/system/cpu/cpu{cpu}/online"));
        files.map(|file| fs::write(file, to)).collect::<Vec<_>>()
    };
    let switched = switch("0");
    let since = Instant::now();
    let is_left = || {
        let all = threads(&job.processes());
        all.iter().any(|thread| thread.policy == RR)
    };
    while is_left() && since.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(100));
    }
    let all = threads(&job.processes());
    let told = format!(
        "CPUs {own:?} offline ({switched:?}): after {:.1?} {all:?}",
        since.elapsed()
    );
    println!("  {told}");
    drop(switch("1"));
    match all.iter().any(|thread| thread.policy == RR) {
        true => Err(told),
        false => Ok(()),
    }
}

/// A user's task has the lowest real-time priority, and no way to a higher one: not by asking, and not by programs
/// that give rights.
pub(crate) fn users(here: &Here) -> Told {
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

fn open_to_users(here: &Here) {
    let everybody = ["update", "PartitionName=multi8", "AllowGroups=ALL"];
    here.cluster.scontrol(&everybody).expect_ok();
}

/// What a user's own service manager can have the system's do: his process is taken out of its job.
pub(crate) fn left(here: &Here) -> Told {
    open_to_users(here);
    let job = start_as_user(&here.cluster, &["-pmulti8", "-D/"], ("half", 1, 2))?;
    let all = job.processes();
    let is_realtime = |all: &[u32]| threads(all).iter().any(|thread| thread.policy == RR);
    if !is_realtime(&all) {
        return Err("its task is no real-time one".into());
    }
    let place = Path::new("/sys/fs/cgroup/user.slice/taken.scope");
    fs::create_dir_all(place).map_err(|why| why.to_string())?;
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
