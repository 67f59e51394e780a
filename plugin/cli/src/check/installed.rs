//! What the Slurm that is installed here says of itself: its release line, and whether a partition
//! gives whole nodes.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use berth_srun::Release;

use berth_answer::plan;
use berth_answer::world::LIVE;

use crate::here;

/// How long one of its commands may take: without a configuration they look for one for a minute.
const PATIENCE: Duration = Duration::from_secs(2);
/// The most that is read of an answer.
const MOST: u64 = 1 << 20;

/// The installed line, or the newest that berth knows. slurmd answers without a configuration too.
pub(super) fn release() -> Release {
    let asked = [("srun", "--version"), ("slurmd", "-V")];
    let texts = asked
        .iter()
        .filter_map(|(program, option)| said(program, &[*option]));
    let mut lines = texts.filter_map(|text| line_of(&text));
    lines.next().unwrap_or(Release::NEWEST)
}

/// The line in `slurm 24.11.5` or `slurm-wlm 22.05.8`.
fn line_of(text: &str) -> Option<Release> {
    text.split_whitespace().find_map(|word| word.parse().ok())
}

/// Whether a partition gives whole nodes, as the running slurmctld says; the default one if none
/// is named.
pub(super) fn gives_whole_nodes(partition: Option<&str>, release: Release) -> bool {
    let config = here::cluster::named(LIVE);
    config.is_ok_and(|config| plan::gives_whole_nodes(&config, partition, release))
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
    fn lines() {
        assert_eq!(line_of("slurm-wlm 22.05.8\n"), Some(Release::V22_05));
        assert_eq!(line_of("slurm 24.11.5"), Some(Release::V24_11));
        assert_eq!(line_of("srun: error"), None);
    }

    #[test]
    fn a_command_that_is_missing_or_fails_says_nothing() {
        assert_eq!(said("no-such-command", &[]), None);
        assert_eq!(said("false", &[]), None);
        assert_eq!(said("echo", &["x"]).as_deref(), Some("x\n"));
    }
}
