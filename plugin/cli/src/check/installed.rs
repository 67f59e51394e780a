//! What the Slurm that is installed here says of itself: its release line, and whether a partition
//! gives whole nodes.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use berth_srun::Release;

/// How long one of its commands may take: without a configuration they look for one for a minute.
const PATIENCE: Duration = Duration::from_secs(2);
/// The most that is read of an answer.
const MOST: u64 = 1 << 20;

/// The installed line, or the newest that berth knows.
pub(super) fn release() -> Release {
    let text = said("srun", &["--version"]).unwrap_or_default();
    // "slurm 24.11.5", "slurm-wlm 22.05.8"
    let found = text.split_whitespace().find_map(|word| word.parse().ok());
    found.unwrap_or(Release::NEWEST)
}

/// Whether a partition gives whole nodes, as the running slurmctld says; the default one if none
/// is named.
pub(super) fn gives_whole_nodes(partition: Option<&str>) -> bool {
    let text = said("scontrol", &["--oneliner", "show", "partition"]).unwrap_or_default();
    is_whole(&text, partition)
}

fn is_whole(text: &str, partition: Option<&str>) -> bool {
    let is_meant = |line: &&str| match partition {
        Some(name) => line.split_whitespace().next() == Some(&format!("PartitionName={name}")),
        None => line.split_whitespace().any(|word| word == "Default=YES"),
    };
    let line = text.lines().find(is_meant).unwrap_or_default();
    line.split_whitespace()
        .any(|word| word == "OverSubscribe=EXCLUSIVE")
}

/// What a command prints, if it ends well and in time.
fn said(program: &str, words: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    command
        .args(words)
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).spawn().ok()?;
    let output = child.stdout.take()?;
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        output.take(MOST).read_to_string(&mut text).map(|_| text)
    });
    if !ended(&mut child) {
        let _ = child.kill();
        let _ = child.wait();
        return None;
    }
    reader.join().ok()?.ok()
}

fn ended(child: &mut Child) -> bool {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        match child.try_wait() {
            Ok(None) => std::thread::sleep(Duration::from_millis(5)),
            Ok(Some(status)) => return status.success(),
            Err(_) => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions() {
        let text = "PartitionName=a Default=NO OverSubscribe=NO\n\
                    PartitionName=ab Default=YES OverSubscribe=EXCLUSIVE\n";
        assert!(is_whole(text, Some("ab")));
        assert!(is_whole(text, None));
        assert!(!is_whole(text, Some("a")));
        assert!(!is_whole(text, Some("c")));
        assert!(!is_whole("", None));
    }

    #[test]
    fn a_command_that_is_missing_or_fails_says_nothing() {
        assert_eq!(said("no-such-command", &[]), None);
        assert_eq!(said("false", &[]), None);
        assert_eq!(said("echo", &["x"]).as_deref(), Some("x\n"));
    }
}
