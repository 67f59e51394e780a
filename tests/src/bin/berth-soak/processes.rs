//! Processes of one cluster: those to be killed, and those that are run for a bounded time.

use std::fs;
use std::time::Duration;

use berth_tests::{Cluster, Done};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

pub use berth_tests::process::find;

/// Kills one of them, if there is any.
pub fn kill_one(random: &mut fastrand::Rng, pids: &[i32]) -> bool {
    let Some(pid) = random.choice(pids) else {
        return false;
    };
    kill(Pid::from_raw(*pid), Signal::SIGKILL).is_ok()
}

/// How long a process has lived, by the clock ticks of which Linux tells a hundred a second.
pub fn age_of(pid: i32) -> Option<Duration> {
    let start: u64 = start_of(pid)?.parse().ok()?;
    let uptime = fs::read_to_string("/proc/uptime").ok()?;
    let uptime: f64 = uptime.split_whitespace().next()?.parse().ok()?;
    Duration::from_secs_f64(uptime).checked_sub(Duration::from_millis(10 * start))
}

/// A process's start, to tell it from later ones of its number.
pub fn start_of(pid: i32) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let ended = matches!(fields.next()?, "Z" | "X");
    (!ended).then(|| fields.nth(18).map(String::from))?
}

/// Runs a program of the cluster for so many seconds at most. An srun that does not reach slurmctld may go on after a first
/// signal; its step then has none, as one whose srun was killed.
pub fn patiently(cluster: &Cluster, seconds: &str, words: &[&str]) -> Done {
    let mut patient = cluster.program("timeout");
    patient.args(["--preserve-status", "--kill-after=30", seconds]);
    Done::from(patient.args(words).output().expect("timeout can be run"))
}
