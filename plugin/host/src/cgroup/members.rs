//! The processes and threads of a cgroup and of those below it, which a user of Slurm 22.05 can make there.
//! In: a folder. Out: numbers, as many as are looked at in reasonable time.
//! [`is_slurmstepd`] says whether one of them is a slurmstepd.

use std::fs;

use libc::pid_t;

use super::Folder;
use crate::affinity::listed;
use crate::kernel_text;

/// Threads that are looked at; a job with more has the rest left to the kernel.
pub const MOST: usize = 1 << 16;
/// Folders below a task's own that are looked at, and how deep.
const FOLDERS: usize = 256;
const DOWN: usize = 4;

/// The processes.
#[must_use]
pub fn processes(folder: &Folder) -> Vec<pid_t> {
    let mut found = Vec::new();
    gather(folder, DOWN, &mut { FOLDERS }, &mut found);
    found
}

/// Those of the folder itself.
#[must_use]
fn processes_in(folder: &Folder) -> Vec<pid_t> {
    let text = folder.read("cgroup.procs").unwrap_or_default();
    let all = text.lines().filter_map(|line| line.parse::<pid_t>().ok());
    // 0 is a process of another namespace.
    all.filter(|pid| *pid > 0).take(MOST).collect()
}

fn gather(folder: &Folder, depth: usize, left: &mut usize, found: &mut Vec<pid_t>) {
    found.extend(processes_in(folder));
    found.truncate(MOST);
    if depth == 0 {
        return;
    }
    let names = folder.children(*left);
    *left -= names.len();
    for below in names.iter().filter_map(|name| folder.child(name).ok()) {
        gather(&below, depth - 1, left, found);
    }
}

/// A thread of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    /// The process.
    pub process: pid_t,
    /// The thread.
    pub number: pid_t,
}

impl Thread {
    /// Whether it is still the process's: a number may have another owner meanwhile.
    #[must_use]
    pub fn lives(self) -> bool {
        let Self { process, number } = self;
        fs::exists(format!("/proc/{process}/task/{number}")).unwrap_or(false)
    }
}

/// The threads of some processes.
#[must_use]
pub fn threads(processes: &[pid_t]) -> Vec<Thread> {
    let of = |process: &pid_t| {
        let process = *process;
        let numbers = listed(process, MOST).unwrap_or_default().into_iter();
        numbers.map(move |number| Thread { process, number })
    };
    processes.iter().flat_map(of).take(MOST).collect()
}

/// The name of its program begins so: Debian's is `slurmstepd-wlm`.
const NAME: &str = "slurmstepd";

/// Whether a process is a slurmstepd. Beside it in its cgroup are what it forks, until that is moved, and a user's own
/// task epilog with all of its children: these are not root's, or another program, or a child of one in the cgroup.
#[must_use]
pub fn is_slurmstepd(process: pid_t, beside: &[pid_t]) -> bool {
    let Ok(status) = kernel_text::read(format!("/proc/{process}/status")) else {
        return false;
    };
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
    let parent = field("PPid:").and_then(|text| text.trim().parse::<pid_t>().ok());
    // The real uid and the saved one: the effective one is the user's while a slurmstepd forks tasks.
    let mut uids = field("Uid:").unwrap_or_default().split_whitespace();
    let is_roots = (uids.next(), uids.nth(1)) == (Some("0"), Some("0"));
    is_roots && parent.is_some_and(|parent| !beside.contains(&parent)) && is_its_program(process)
}

fn is_its_program(process: pid_t) -> bool {
    let exe = fs::read_link(format!("/proc/{process}/exe"));
    let name = exe.as_ref().ok().and_then(|exe| exe.file_name()?.to_str());
    // Behind it the kernel writes a word if the program was replaced by an upgrade.
    name.is_some_and(|name| name.starts_with(NAME))
}

#[cfg(test)]
mod tests {
    use super::super::fake::{end, program, program_named};
    use super::*;

    #[test]
    fn this_process_has_this_thread() {
        let process = std::process::id() as pid_t;
        let own = Thread {
            process,
            number: process,
        };
        assert!(threads(&[process]).contains(&own) && own.lives());
        let other = Thread { process: 1, ..own };
        assert!(!other.lives(), "it is no thread of init's");
        assert!(threads(&[pid_t::MAX]).is_empty());
    }

    /// A copy of a program with the name of slurmstepd, as root, alone and beside its parent.
    #[test]
    fn a_slurmstepd_is_known_by_its_program_its_uids_and_its_parent() {
        if !nix::unistd::Uid::effective().is_root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let mut child = program(dir.path());
        let pid = child.id() as pid_t;
        assert!(is_slurmstepd(pid, &[pid]));
        fs::remove_file(dir.path().join(NAME)).unwrap();
        assert!(is_slurmstepd(pid, &[pid]), "it was replaced");
        let own = std::process::id() as pid_t;
        assert!(!is_slurmstepd(pid, &[pid, own]), "its parent is there");
        assert!(!is_slurmstepd(own, &[]), "another program");
        let debians = program_named(dir.path(), "slurmstepd-wlm", 0);
        assert!(is_slurmstepd(debians.id() as pid_t, &[]));
        end(debians);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!is_slurmstepd(pid, &[]));
    }
}
