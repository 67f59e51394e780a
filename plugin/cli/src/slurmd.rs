//! Finds the slurmd that wrote an announcement: by its command line, and by when it was started.

use std::fs;
use std::time::{Duration, SystemTime};

use berth_host::{StateDir, announcement};

/// slurmd announces itself before it forks into the background.
pub(crate) const FORK: Duration = Duration::from_secs(60);

/// The kernel's ticks in /proc, on every architecture.
const TICKS: f64 = 100.0;

/// Its process and how long that has run.
pub(crate) fn find(command_line: &[String]) -> Option<(u32, Duration)> {
    let words = command_line.iter().map(|word| format!("{word}\0"));
    let wanted = words.collect::<String>().into_bytes();
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let mut pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_it = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline"));
        line.is_ok_and(|line| line == wanted)
    };
    let pid = pids.find(is_it)?;
    Some((pid, age(pid)?))
}

fn age(pid: u32) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before it may hold anything, a bracket too.
    let fields = stat.rsplit(')').next()?;
    let started: f64 = fields.split_whitespace().nth(19)?.parse().ok()?;
    let uptime = fs::read_to_string("/proc/uptime").ok()?;
    let now: f64 = uptime.split_whitespace().next()?.parse().ok()?;
    Duration::try_from_secs_f64((now - started / TICKS).max(0.0)).ok()
}

/// How long ago the announcement was written.
pub(crate) fn since(dir: &StateDir) -> Option<Duration> {
    let file = fs::metadata(dir.path().join(announcement::NAME)).ok()?;
    SystemTime::now().duration_since(file.modified().ok()?).ok()
}
