//! The checks of the files in a node's state directory.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::SystemTime;

use berth_host::key::Key;
use berth_host::ledger::Entry;
use berth_host::metrics::{self, Count, Metrics};
use berth_host::state::DEFAULT_BASE;
use berth_host::trust::ReadError;
use berth_host::{OnlineCpus, StateDir, key as keys, ledger as steps, machine_file, site_file};
use berth_placement::{Machine, counted, either};
use berth_site::Announcement;
use berth_srun::Config;
use nix::sys::statfs::{TMPFS_MAGIC, statfs};
use nix::unistd::{AccessFlags, Uid, access};

use super::Checks;
use super::Verdict::{self, Note, Ok as Well, Wrong};
use crate::site_files::{self, SiteFile};

/// The switch-off file's name in the state directory.
const OFF: &str = "off";
const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// Whether the directory belongs to root alone.
pub(super) fn state(checks: &mut Checks, dir: &StateDir) {
    let path = dir.path().display();
    if !Uid::effective().is_root() {
        let text = "only root can check that its directory is writable";
        return checks.add(Note, "state", text, path);
    }
    let remote = statfs(dir.path())
        .ok()
        .and_then(|found| network_of(found.filesystem_type().0));
    match (dir.check(), remote) {
        (Ok(()), None) => checks.add(Well, "state", "the directory belongs to root", path),
        (Ok(()), Some(kind)) => {
            let text = format!(
                "the directory is on a network file system ({kind}): a server that hangs would stop launches, and two nodes \
                 could share it; set state_dir= to a local directory such as {DEFAULT_BASE}"
            );
            checks.add(Wrong, "state", text, path);
        }
        (Err(why), _) => checks.add(Wrong, "state", why.to_string(), path),
    }
}

/// The network file system with this number. Source: `linux/magic.h` and each file system's own header.
fn network_of(magic: i64) -> Option<&'static str> {
    // Some numbers have the highest bit of 32 set, which a 64-bit kernel does not extend.
    let kind = match magic as u32 {
        0x6969 => "NFS",
        0x517b | 0xff53_4d42 | 0xfe53_4d42 => "SMB",
        0x00c3_6400 => "Ceph",
        0x0bd0_0bd0 => "Lustre",
        0x4750_4653 => "Spectrum Scale",
        0x1983_0326 => "BeeGFS",
        0x5346_414f | 0x6b41_4653 => "AFS",
        0x7461_636f => "OCFS2",
        0x0116_1970 => "GFS2",
        0x2003_0528 => "OrangeFS",
        _ => return None,
    };
    Some(kind)
}

/// Compares the machine file with the machine.
pub(super) fn machine(checks: &mut Checks, dir: &StateDir, machine: Option<&Machine>) {
    let path = dir.machine_path().display();
    let file = match machine_file::read(dir.machine_path()) {
        Ok(file) => file,
        Err(why) => return checks.add(Wrong, "machine file", why.to_string(), path),
    };
    let online = OnlineCpus::open().ok();
    let fresh =
        !file.this_system || online.is_none_or(|online| online.unchanged(&file.proof.online));
    let (verdict, text) = match machine.filter(|_| file.this_system) {
        _ if !fresh => (
            Note,
            "CPUs went online or offline after it was written; slurmd writes it again after the \
             next launch"
                .into(),
        ),
        Some(now) if now.parts().packages != file.machine.parts().packages => (
            Wrong,
            "it shows other cores than hwloc finds now; restart slurmd".into(),
        ),
        _ => (Well, file.source),
    };
    checks.add(verdict, "machine file", text, &path);
    for note in file.notes {
        checks.add(Note, "machine file", note, &path);
    }
}

/// Checks slurmd's key. Without it slurmstepd does not trust slurmd's plans, and no step is placed. slurmd makes a missing
/// one at the next launch, if it can.
pub(super) fn key(checks: &mut Checks, dir: &StateDir) {
    if !Uid::effective().is_root() {
        return;
    }
    let path = dir.path().join(keys::NAME);
    let (verdict, text) = match Key::read(dir) {
        Ok(_) => (Well, "slurmd's key is there, for root alone".into()),
        Err(why) if why.kind() == ErrorKind::NotFound && is_writable(dir) => {
            (Well, "slurmd makes its key at the next launch".into())
        }
        Err(why) => (
            Wrong,
            format!(
                "slurmd's key cannot be read: {why}; tasks keep their step's CPUs, without \
                 placement"
            ),
        ),
    };
    checks.add(verdict, "key", text, path.display());
}

fn is_writable(dir: &StateDir) -> bool {
    dir.check().is_ok() && access(dir.path(), AccessFlags::W_OK).is_ok()
}

/// Checks that the ledger can be read.
pub(super) fn ledger(checks: &mut Checks, dir: &StateDir) {
    if !Uid::effective().is_root() {
        return;
    }
    let path = dir.path().join(steps::NAME);
    let (verdict, text) = match steps::look(dir) {
        Ok(entries) => service(checks, dir, &entries),
        Err(why) => (Wrong, why.to_string()),
    };
    checks.add(verdict, "ledger", text, path.display());
}

/// The ledger's entries, and whether tasks stay frozen because the service that froze them is gone.
fn service(checks: &mut Checks, dir: &StateDir, entries: &[Entry]) -> (Verdict, String) {
    let runs = steps::has_service(dir);
    let waiting = entries.iter().filter(|entry| entry.waits);
    let jobs: BTreeSet<_> = waiting.map(|entry| entry.step.job.to_string()).collect();
    let jobs = jobs.into_iter().collect::<Vec<_>>().join(", ");
    let (verdict, text) = match (runs, jobs.is_empty()) {
        (true, true) => (Well, "berth node runs".into()),
        (true, false) => (
            Well,
            format!("berth node runs; these jobs wait for CPUs of their cpusets: {jobs}"),
        ),
        (false, true) => (
            Well,
            "berth node does not run: a resumed job keeps the CPUs of its cpuset".into(),
        ),
        (false, false) => (
            Wrong,
            format!(
                "berth node has ended and left tasks of these jobs frozen: {jobs}; run berth node --release"
            ),
        ),
    };
    checks.add(
        verdict,
        "service",
        text,
        dir.path().join(steps::NAME).display(),
    );
    let bound = entries.iter().filter(|entry| !entry.pool).count();
    (
        Well,
        format!("entries of steps bound by --binding or in a cpuset: {bound}"),
    )
}

/// Checks a file of the site as it is now, beside the stamp of the one that is in force.
pub(super) fn check_site_file<T>(
    checks: &mut Checks,
    what: &'static str,
    file: &SiteFile<T>,
    stamp: &str,
    in_force: String,
) {
    let (verdict, text) = match &file.found {
        _ if file.is_roots() => (Well, in_force),
        Ok(_) if stamp == site_file::stamp(&file.path) => (Well, in_force),
        Ok(_) => (
            Note,
            format!(
                "{in_force}; the file has changed since slurmd read it: run berth reload, and the next \
                 launch reads it"
            ),
        ),
        Err(why) => (Wrong, format!("{why}; {in_force}")),
    };
    checks.add(verdict, what, text, file.path.display());
}

/// Shows the metrics; a read-back difference needs attention.
pub(super) fn metrics(checks: &mut Checks, dir: &StateDir, words: Option<&Announcement>) {
    let path = dir.path().join(metrics::NAME);
    let path = path.display();
    let metrics = match Metrics::read(dir) {
        Ok(metrics) => metrics,
        Err(ReadError::Absent(_)) => {
            let off = words.is_some_and(|words| words.settings.contains("counters=off"));
            let (verdict, why) = match off {
                true => (Well, "counters=off"),
                false => (
                    Note,
                    "slurmd makes this file when it starts, and it is not there: the reason is in \
                     slurmd's log, or somebody has removed it, and the next step makes it again",
                ),
            };
            return checks.add(verdict, "counters", why, path);
        }
        Err(why) => return checks.add(Wrong, "counters", why.to_string(), path),
    };
    let count = |count| metrics.get(count);
    let counts = format!(
        "{} {}, {} bound, {} unbound ({} while switched off, {} by a failed --binding), {} refused, {}",
        count(Count::Launches),
        either(&count(Count::Launches), "launch", "launches"),
        counted(count(Count::Bound), "task"),
        count(Count::Unbound),
        count(Count::SwitchedOff),
        count(Count::BindingFailed),
        count(Count::Refused),
        counted(count(Count::Differences), "read-back difference"),
    );
    let unconfined = match count(Count::NotConfined) {
        0 => String::new(),
        count => format!(", {} not confined (confine=)", counted(count, "bound task")),
    };
    let verdict = match count(Count::Differences) + count(Count::NotConfined) {
        0 => Well,
        _ => Note,
    };
    checks.add(verdict, "counters", counts + &unconfined, path);
}

/// Checks the file of cpusets that slurmd's settings name, and its partitions by slurm.conf where that can be read; without
/// a file there is nothing to check.
pub(super) fn cpusets(checks: &mut Checks, words: &Announcement, config: Option<&Config>) {
    let Some(file) = site_files::cpusets(&checks.node, words) else {
        return;
    };
    let of_sets = words.static_cpusets.iter().flat_map(|set| &set.partitions);
    let own = words.partition_cpusets.iter().map(|words| &words.partition);
    let is_absent = |name: &&String| config.is_some_and(|config| !config.has_partition(name));
    for name in of_sets
        .chain(own)
        .filter(is_absent)
        .collect::<BTreeSet<_>>()
    {
        let text = format!(
            "the file names the partition {name}, which slurm.conf does not have, so no job is in it; correct one of them"
        );
        checks.add(Note, "cpusets", text, file.path.display());
    }
    let in_force = format!(
        "{} and the words of {} in force",
        counted(words.static_cpusets.len(), "static cpuset"),
        counted(words.partition_cpusets.len(), "partition"),
    );
    check_site_file(checks, "cpusets", &file, &words.cpusets_stamp, in_force);
}

/// Checks the administrator's switch-off file: whether it is there, how long it will last, and whether one was put where
/// nobody looks.
pub(super) fn switch(checks: &mut Checks, base: &Path, dir: &StateDir) {
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
    for useless in [Path::new(DEFAULT_BASE), dir.path()].map(|folder| folder.join(OFF)) {
        if useless != off && useless.exists() {
            let (useless, off) = (useless.display(), off.display());
            let text = format!(
                "the file {useless} does nothing for this node: its slurmd looks for {off}"
            );
            checks.add(Note, "switch", text, useless);
        }
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

/// ` (for 3 days)`; empty if the clock has been set back.
fn age(since: SystemTime) -> String {
    let Ok(age) = SystemTime::now().duration_since(since) else {
        return String::new();
    };
    let (count, unit) = match age.as_secs() {
        seconds @ ..MINUTE => (seconds, "second"),
        seconds @ ..HOUR => (seconds / MINUTE, "minute"),
        seconds @ ..DAY => (seconds / HOUR, "hour"),
        seconds => (seconds / DAY, "day"),
    };
    format!(" (for {})", counted(count, unit))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use nix::sys::statfs::NFS_SUPER_MAGIC;

    use super::*;

    #[test]
    fn network_file_systems_are_known() {
        for (magic, expected) in [
            (NFS_SUPER_MAGIC.0, Some("NFS")),
            (TMPFS_MAGIC.0, None),
            (0xff53_4d42_u32.into(), Some("SMB")),
            (0xff53_4d42_u32.cast_signed().into(), Some("SMB")),
        ] {
            assert_eq!(network_of(magic), expected, "{magic:x}");
        }
    }

    #[test]
    fn ages_in_words() {
        let ago = |seconds| age(SystemTime::now() - Duration::from_secs(seconds));
        assert_eq!(ago(3 * DAY + HOUR), " (for 3 days)");
        assert_eq!(ago(2 * HOUR + 5), " (for 2 hours)");
        assert_eq!(ago(61), " (for 1 minute)");
        assert_eq!(age(SystemTime::now() + Duration::from_secs(9)), "");
    }
}
