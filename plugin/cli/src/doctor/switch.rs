//! The administrator's switch-off file: whether it is there, and how long it will last.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use berth_host::state::DEFAULT_BASE;
use nix::sys::statfs::{TMPFS_MAGIC, statfs};

use super::Checks;
use super::Verdict::{Note, Ok as Well};

/// The file's name in the state directory.
const OFF: &str = "off";
const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// Checks the file of a state directory, and one that was put where nobody looks.
pub(super) fn check(checks: &mut Checks, base: &Path) {
    let off = base.join(OFF);
    let (verdict, text) = match fs::symlink_metadata(&off) {
        Ok(found) => {
            let age = found.modified().ok().map(age).unwrap_or_default();
            let (off, lifetime) = (off.display(), lifetime(base));
            let text = format!(
                "the file {off} switches berth off{age}; remove it to switch berth on again{lifetime}"
            );
            (Note, text)
        }
        Err(_) => (Well, "berth is not switched off".into()),
    };
    checks.add(verdict, "switch", text, off.display());
    let usual = Path::new(DEFAULT_BASE).join(OFF);
    if usual != off && usual.exists() {
        let (usual, off) = (usual.display(), off.display());
        let text =
            format!("the file {usual} does nothing for this node: its slurmd looks for {off}");
        checks.add(Note, "switch", text, usual);
    }
}

/// A file in memory is gone after a reboot, and berth is on again.
fn lifetime(base: &Path) -> &'static str {
    let is_in_memory = statfs(base).is_ok_and(|found| found.filesystem_type() == TMPFS_MAGIC);
    match is_in_memory {
        true => {
            "; it is in memory (tmpfs), so a reboot of the node removes it and switches berth on: \
             to keep berth off, write TaskPlugin=task/affinity into slurm.conf"
        }
        false => "; it stays over reboots",
    }
}

/// ` since 3 days`; empty if the clock has been set back.
fn age(since: SystemTime) -> String {
    let Ok(age) = SystemTime::now().duration_since(since) else {
        return String::new();
    };
    let (count, unit) = match age.as_secs() {
        seconds @ ..MINUTE => (seconds, "seconds"),
        seconds @ ..HOUR => (seconds / MINUTE, "minutes"),
        seconds @ ..DAY => (seconds / HOUR, "hours"),
        seconds => (seconds / DAY, "days"),
    };
    format!(" (for {count} {unit})")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn ages_in_words() {
        let ago = |seconds| age(SystemTime::now() - Duration::from_secs(seconds));
        assert_eq!(ago(3 * DAY + HOUR), " (for 3 days)");
        assert_eq!(ago(2 * HOUR + 5), " (for 2 hours)");
        assert_eq!(ago(61), " (for 1 minutes)");
        assert_eq!(age(SystemTime::now() + Duration::from_secs(9)), "");
    }
}
