//! Real-time tasks of a pool that have left their job. A user's own service manager may ask the system's to take a
//! process of that user into `user.slice` (`systemd-run --user --scope`): no fence of the job holds it there, no end of the
//! job ends it, and it would go before everybody on every CPU.
//! In: the processes of this host. Out: ordinary threads.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use libc::pid_t;

use super::Outside;
use super::members::threads_within;
use crate::priority::{is_of_pool, set_ordinary};

/// Below it systemd keeps what users may put together themselves.
const USERS: &str = "/user.slice/";
/// Threads of a process that are looked at.
const MOST: usize = 1 << 16;
/// So often they are listed, and so often all processes: those that make others all the time are not followed for ever.
const ROUNDS: u32 = 4;

/// Makes ordinary ones of them. The whole of /proc is looked at: in cgroups that are its own a user could hide a process
/// behind as many others as are looked at.
#[must_use]
pub fn lower_escaped() -> Vec<Outside> {
    let mut all = BTreeMap::new();
    for _ in 0..ROUNDS {
        let found = in_one_pass();
        if found.is_empty() {
            break;
        }
        for (path, count) in found {
            *all.entry(path).or_insert(0) += count;
        }
    }
    all.into_iter()
        .map(|(path, threads)| Outside { path, threads })
        .collect()
}

/// Whether any thread of this host is a real-time one that a pool has made, in its job or out of it.
#[must_use]
pub fn any_of_pool() -> bool {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<pid_t>().ok());
    pids.any(|pid| {
        let threads = threads_within(pid, MOST);
        threads.iter().any(|thread| is_of_pool(thread.number))
    })
}

/// The cgroups in which there were some, with their number.
fn in_one_pass() -> BTreeMap<String, usize> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut all = BTreeMap::new();
    for entry in entries {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.parse::<pid_t>().ok());
        // Kernel threads and daemons are root's.
        let is_users = |path: &Path| fs::metadata(path).is_ok_and(|of| of.uid() != 0);
        if let Some(pid) = pid.filter(|_| is_users(&entry.path()))
            && let Some((path, count)) = lowered(pid, || place_of(&entry.path()))
        {
            *all.entry(path).or_insert(0) += count;
        }
    }
    all
}

/// The cgroup of a process, if it is one of those that users have.
fn place_of(process: &Path) -> Option<String> {
    // A user may name his folders by any bytes.
    let text = fs::read(process.join("cgroup")).ok()?;
    users_own(&String::from_utf8_lossy(&text))
}

/// In: `/proc/PID/cgroup`.
fn users_own(text: &str) -> Option<String> {
    let path = text.lines().find_map(|line| line.strip_prefix("0::"))?;
    path.starts_with(USERS).then(|| path.to_owned())
}

/// Where it was, and how many of its threads are ordinary ones now.
fn lowered(pid: pid_t, place: impl FnOnce() -> Option<String>) -> Option<(String, usize)> {
    let of_pool = || {
        let mut all = threads_within(pid, MOST);
        all.retain(|thread| is_of_pool(thread.number));
        all
    };
    let mut left = of_pool();
    if left.is_empty() {
        return None;
    }
    let path = place()?;
    let mut count = 0;
    for _ in 0..ROUNDS {
        let done = left
            .iter()
            .filter(|thread| set_ordinary(thread.number).is_ok());
        count += done.count();
        left = of_pool();
        if left.is_empty() {
            break;
        }
    }
    Some((path, count))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::priority::{is_realtime, set_realtime};

    #[test]
    fn what_users_put_together_is_outside_of_every_job() {
        let own = "/user.slice/user-7.slice/user@7.service/run-r1.scope";
        let v1 = format!("12:cpuset:/\n0::{own}\n");
        assert_eq!(users_own(&v1).as_deref(), Some(own));
        for inside in [
            "0::/system.slice/slurmstepd.scope/job_1/step_0/user/task_0\n",
            "0::/user.slice\n",
            "0::/x/user.slice/x\n",
            "3:cpuset:/user.slice/x\n",
            "",
        ] {
            assert_eq!(users_own(inside), None, "{inside}");
        }
    }

    #[test]
    fn a_folder_may_have_any_name() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("cgroup"), b"0::/user.slice/u/\xff\n").unwrap();
        let found = place_of(dir.path()).unwrap();
        assert_eq!(found, "/user.slice/u/\u{fffd}");
    }

    #[test]
    fn a_task_of_a_pool_becomes_an_ordinary_one_there() {
        for (is_outside, is_ours) in [(true, true), (false, true), (true, false)] {
            let mut child = Command::new("sleep").arg("60").spawn().unwrap();
            let pid = child.id() as pid_t;
            let place = || is_outside.then(|| "/user.slice/x".to_owned());
            let is_set = !is_ours || set_realtime(pid).is_ok();
            let is_seen = any_of_pool();
            let (found, stays) = (lowered(pid, place), is_realtime(pid));
            child.kill().unwrap();
            child.wait().unwrap();
            if !is_set {
                eprintln!("skipped: the kernel refuses SCHED_RR here");
                return;
            }
            let count = found.map(|(_, count)| count);
            let expected = (is_outside && is_ours).then_some(1);
            assert_eq!((count, stays), (expected, is_ours && !is_outside));
            assert!(is_seen || !is_ours);
        }
    }
}
