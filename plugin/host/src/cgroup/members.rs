//! The processes and threads of a cgroup and of those below it, which a user of Slurm 22.05 can make there.
//! In: a folder. Out: numbers, as many as are looked at in reasonable time.

use std::fs;

use libc::pid_t;

use super::Folder;
use crate::threads::listed;

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
pub fn processes_in(folder: &Folder) -> Vec<pid_t> {
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

#[cfg(test)]
mod tests {
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
}
