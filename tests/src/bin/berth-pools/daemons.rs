//! The node's daemons: stopped, killed, and started as a site's service manager starts them.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use berth_tests::{Cluster, process};
use nix::sys::signal::Signal;

use crate::cancel::RR;
use crate::{Here, Told, thread};

/// What is told to end has ended within this time.
const ENDED: Duration = Duration::from_secs(30);

/// The processes of slurmd, whatever its distribution calls it.
pub(crate) fn slurmds(cluster: &Cluster) -> Vec<i32> {
    let folder = cluster.folder().to_string_lossy().into_owned();
    let of = |name| process::find(name, &folder);
    [of("slurmd"), of("slurmd-wlm")].concat()
}

/// The slurmstepds of all jobs.
pub(crate) fn slurmstepds(cluster: &Cluster) -> Vec<u32> {
    let folder = cluster.folder().to_string_lossy().into_owned();
    let all = process::find("slurmstepd", &folder);
    all.into_iter()
        .filter_map(|pid| pid.try_into().ok())
        .collect()
}

/// berth's thread in slurmd, in `/proc`.
fn watcher(cluster: &Cluster) -> Option<PathBuf> {
    let tasks = slurmds(cluster)
        .into_iter()
        .filter_map(|pid| fs::read_dir(format!("/proc/{pid}/task")).ok());
    let mut threads = tasks.flatten().flatten().map(|entry| entry.path());
    threads.find(|thread| {
        fs::read_to_string(thread.join("comm")).is_ok_and(|name| name.trim() == "berth")
    })
}

/// Whether berth's thread in slurmd goes before the tasks of pools.
pub(crate) fn watcher_goes_first(cluster: &Cluster) -> bool {
    let stat = watcher(cluster).and_then(|thread| fs::read_to_string(thread.join("stat")).ok());
    let is_first = |(policy, priority)| policy == RR && priority == 99;
    stat.as_deref()
        .and_then(thread::policy)
        .is_some_and(is_first)
}

/// How long that thread has run, and how long it has waited for a CPU while it could have run.
pub(crate) fn watchers_times(cluster: &Cluster) -> Option<[Duration; 2]> {
    let text = fs::read_to_string(watcher(cluster)?.join("schedstat")).ok()?;
    let mut words = text.split_whitespace().map(|word| word.parse().ok());
    let mut next = || words.next().flatten().map(Duration::from_nanos);
    Some([next()?, next()?])
}

/// Kills slurmd, which can undo nothing.
///
/// # Errors
/// There was none.
pub(crate) fn kill(cluster: &Cluster) -> Told {
    let all = slurmds(cluster);
    for pid in &all {
        process::signal(*pid, Signal::SIGKILL);
    }
    match all.is_empty() {
        true => Err("no slurmd was found that could be killed".into()),
        false => gone(cluster),
    }
}

fn gone(cluster: &Cluster) -> Told {
    let since = Instant::now();
    while !slurmds(cluster).is_empty() {
        if since.elapsed() > ENDED {
            return Err(format!("slurmd has not ended after {ENDED:?}"));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// A slurmd that does not become another process.
pub(crate) struct Foreground<'a> {
    here: &'a Here,
    child: Child,
}

/// Restarts slurmd as systemd does it.
///
/// # Errors
/// The one before has not ended.
pub(crate) fn in_foreground(here: &Here) -> Result<Foreground<'_>, String> {
    let cluster = &here.cluster;
    for pid in slurmds(cluster) {
        process::signal(pid, Signal::SIGTERM);
    }
    gone(cluster)?;
    let mut slurmd = cluster.program("slurmd");
    let conf = cluster.folder().join("etc/slurm.conf");
    slurmd.arg("-D").arg("-f").arg(conf);
    slurmd.arg("-N").arg(here.node());
    slurmd.stdout(Stdio::null()).stderr(Stdio::null());
    let child = slurmd.spawn().map_err(|why| format!("slurmd: {why}"))?;
    is_back(cluster);
    Ok(Foreground { here, child })
}

impl Foreground<'_> {
    /// Gives the node its usual slurmd again.
    pub(crate) fn end(mut self) {
        process::end(&mut self.child);
        self.here.restart();
    }
}

/// Waits until slurmd listens and its node is up: no launch and no request tells it so.
pub(crate) fn is_back(cluster: &Cluster) {
    let conf = fs::read_to_string(cluster.folder().join("etc/slurm.conf")).unwrap_or_default();
    let line = conf.lines().find(|line| line.starts_with("NodeName="));
    let port = line.and_then(|line| line.split("Port=").nth(1)?.split(' ').next());
    let port: u16 = port
        .and_then(|text| text.parse().ok())
        .expect("slurmd's port");
    cluster.wait_for("slurmd", || {
        let is_up = is_listened_at(port) && cluster.sinfo_state() != "down";
        is_up.then_some(())
    });
}

fn is_listened_at(port: u16) -> bool {
    let ending = format!(":{port:04X}");
    ["/proc/net/tcp", "/proc/net/tcp6"].iter().any(|file| {
        let text = fs::read_to_string(file).unwrap_or_default();
        text.lines().any(|line| {
            let words: Vec<_> = line.split_whitespace().collect();
            matches!(words.as_slice(), [_, own, _, "0A", ..] if own.ends_with(&ending))
        })
    })
}
