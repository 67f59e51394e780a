//! The process that an entry belongs to, and whether it still lives.
//! In: a number and a start time, because numbers are used again. Out: yes or no. Numbers of another PID namespace
//! have no meaning here; such a process is known by the lock that it holds on its entry.

use std::io;

use libc::pid_t;
use serde::{Deserialize, Serialize};

use crate::process_stat::Stat;

/// A process, distinguished from later ones with the same number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Process {
    /// Its number.
    pub pid: pid_t,
    /// Clock ticks between the boot and its start.
    pub start: u64,
}

/// A task that shows whether its job is suspended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Task {
    /// Its number.
    pub pid: pid_t,
    /// The low 32 bits of its start time; 0 if it is unknown.
    pub start: u32,
}

impl Process {
    /// The calling process.
    #[must_use]
    pub fn own() -> Self {
        Self::of(std::process::id() as pid_t).unwrap_or_default()
    }

    /// The process that has this number now.
    #[must_use]
    pub fn of(pid: pid_t) -> Option<Self> {
        let start = Stat::of(pid).ok()?.start;
        Some(Self { pid, start })
    }

    /// Whether it lives. A zombie has ended. If the kernel does not answer, the process counts
    /// as alive: its cores must not be given away because a file could not be opened.
    #[must_use]
    pub fn is_alive(self) -> bool {
        match Stat::of(self.pid) {
            Ok(stat) => !stat.has_ended() && stat.start == self.start,
            Err(why) => !is_gone(&why),
        }
    }
}

impl Task {
    /// The task that has this number now.
    #[must_use]
    pub fn of(pid: pid_t) -> Self {
        let start = Process::of(pid).map_or(0, |process| process.start as u32);
        Self { pid, start }
    }

    /// Whether this very task is stopped, as the tasks of a suspended job are.
    #[must_use]
    pub fn has_stopped(self) -> bool {
        let is_it = |stat: Stat| self.start != 0 && stat.start as u32 == self.start;
        Stat::of(self.pid).is_ok_and(|stat| stat.state == 'T' && is_it(stat))
    }
}

/// Only the kernel's answer that there is no such process means that it has ended. A limit on open
/// files, or a /proc that hides processes, does not mean that.
fn is_gone(why: &io::Error) -> bool {
    matches!(why.raw_os_error(), Some(libc::ENOENT | libc::ESRCH))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::process_stat::tests::Leaderless;

    #[test]
    fn the_living_and_the_dead() {
        let mut children: Vec<_> = (0..2)
            .map(|_| Command::new("sleep").arg("60").spawn().unwrap())
            .collect();
        let of = |child: &std::process::Child| Process::of(child.id() as pid_t).unwrap();
        let requested: Vec<_> = children.iter().map(of).collect();
        let recycled = Process {
            start: requested[0].start + 1,
            ..requested[0]
        };
        assert!(requested[0].is_alive() && Process::own().is_alive() && !recycled.is_alive());
        // A zombie has ended, though its number is not free yet.
        children[1].kill().unwrap();
        while requested[1].is_alive() {
            std::thread::yield_now();
        }
        children[1].wait().unwrap();
        assert!(!requested[1].is_alive());
        let task = Task::of(requested[0].pid);
        assert!(!task.has_stopped());
        let pid = nix::unistd::Pid::from_raw(requested[0].pid);
        nix::sys::signal::kill(pid, nix::sys::signal::SIGSTOP).unwrap();
        while !task.has_stopped() {
            std::thread::yield_now();
        }
        for start in [0, task.start + 1] {
            let other = Task { start, ..task };
            assert!(!other.has_stopped(), "another process of the same number");
        }
        for child in &mut children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    #[test]
    fn a_process_without_its_first_thread_lives_and_can_be_stopped() {
        let child = Leaderless::start();
        let (process, task) = (Process::of(child.0).unwrap(), Task::of(child.0));
        assert!(process.is_alive() && !task.has_stopped());
        // SAFETY: it is this test's own child.
        unsafe { libc::kill(child.0, libc::SIGSTOP) };
        while !task.has_stopped() {
            std::thread::yield_now();
        }
        child.end();
        assert!(!process.is_alive());
    }

    #[test]
    fn only_no_such_process_is_dead() {
        let is_gone = |code| is_gone(&io::Error::from_raw_os_error(code));
        for code in [libc::ENOENT, libc::ESRCH] {
            assert!(is_gone(code), "{code}");
        }
        for code in [libc::EMFILE, libc::ENFILE, libc::EACCES, libc::ENOMEM] {
            assert!(!is_gone(code), "{code}");
        }
        let gone = Process {
            pid: pid_t::MAX,
            start: 1,
        };
        assert!(!gone.is_alive());
    }
}
