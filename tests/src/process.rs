//! Processes of one cluster, found in /proc: no program of procps is needed.

use std::fs;
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::cluster::PATIENCE;

/// Processes whose name is `name` and which have `mark` in their environment or arguments. Slurmstepds may write their
/// title over these: of them the files that they have open count too.
pub fn find(name: &str, mark: &str) -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| {
            let read = |file: &str| fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            let has = |file: &str| String::from_utf8_lossy(&read(file)).contains(mark);
            String::from_utf8_lossy(&read("comm")).trim() == name
                && (has("environ")
                    || has("cmdline")
                    || (name == "slurmstepd" && has_open(*pid, mark)))
        })
        .collect()
}

/// The processes that a process has forked and that it still has.
pub fn children(pid: i32) -> Vec<i32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task"));
    let threads = threads.into_iter().flatten().flatten();
    let texts = threads.map(|thread| fs::read_to_string(thread.path().join("children")));
    let texts: Vec<_> = texts.flatten().collect();
    let words = texts.iter().flat_map(|text| text.split_whitespace());
    words.filter_map(|word| word.parse().ok()).collect()
}

fn has_open(pid: i32, mark: &str) -> bool {
    let open = fs::read_dir(format!("/proc/{pid}/fd"));
    let mut links = open.into_iter().flatten().flatten();
    links.any(|link| {
        let file = fs::read_link(link.path()).unwrap_or_default();
        file.to_string_lossy().contains(mark)
    })
}

/// Sends a signal; a process that is gone has nothing to be told.
pub fn signal(pid: i32, signal: Signal) {
    let _ = kill(Pid::from_raw(pid), signal);
}

/// Ends a child, and with it what it has started: `timeout`, which an attacker's programs run in,
/// passes this signal on, and cannot pass on one that kills.
///
/// # Panics
/// Where it is no child of this process, or goes on: it is killed then, so that a test fails and does not hang.
pub fn end(child: &mut Child) {
    if let Ok(pid) = child.id().try_into() {
        signal(pid, Signal::SIGTERM);
    }
    collect(child, PATIENCE);
}

fn collect(child: &mut Child, patience: Duration) {
    let start = Instant::now();
    while child.try_wait().expect("a child").is_none() {
        if start.elapsed() > patience {
            child.kill().expect("a child");
            child.wait().expect("a child");
            panic!("process {} did not end by a signal", child.id());
        }
        sleep(Duration::from_millis(5));
    }
}

/// The value of a field of `/proc/PID/status`.
pub fn status(pid: i32, field: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
    Some(line.trim().to_owned())
}

/// The value of a field of `/proc/self/status`; empty where there is no such field.
pub fn own_status(field: &str) -> String {
    let own = std::process::id().try_into().expect("a process");
    status(own, field).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    #[should_panic(expected = "did not end by a signal")]
    fn a_child_that_goes_on_fails_its_test() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        collect(&mut child, Duration::from_millis(100));
    }
}
