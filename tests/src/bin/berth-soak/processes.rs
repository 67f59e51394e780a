//! Processes of one cluster, found in /proc.

use std::fs;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Processes whose name is `name` and which have `mark` in their environment or arguments.
pub fn find(name: &str, mark: &str) -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| {
            let read = |file: &str| fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            let has = |file: &str| String::from_utf8_lossy(&read(file)).contains(mark);
            String::from_utf8_lossy(&read("comm")).trim() == name
                && (has("environ") || has("cmdline"))
        })
        .collect()
}

/// Kills one of them, if there is any.
pub fn kill_one(random: &mut fastrand::Rng, pids: &[i32]) -> bool {
    let Some(pid) = random.choice(pids) else {
        return false;
    };
    kill(Pid::from_raw(*pid), Signal::SIGKILL).is_ok()
}

/// A process's start, to tell it from later ones of its number.
pub fn start_of(pid: i32) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let ended = matches!(fields.next()?, "Z" | "X");
    (!ended).then(|| fields.nth(18).map(String::from))?
}
