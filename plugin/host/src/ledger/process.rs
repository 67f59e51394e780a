//! Which process an entry belongs to, and whether that process still is.
//! In: a number and a start time, since numbers come back. Out: yes or no.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};

use libc::pid_t;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// A process, told apart from later ones of the same number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Process {
    /// Its number.
    pub pid: pid_t,
    /// Clock ticks between the boot and its start.
    pub start: u64,
}

impl Process {
    /// The calling one.
    #[must_use]
    pub fn own() -> Self {
        Self::of(std::process::id() as pid_t).unwrap_or_default()
    }

    /// The one that has this number now.
    #[must_use]
    pub fn of(pid: pid_t) -> Option<Self> {
        let start = fields(pid)?.nth(START)?.parse().ok()?;
        Some(Self { pid, start })
    }

    /// Whether it is there; a zombie has ended.
    #[must_use]
    pub fn is_alive(self) -> bool {
        let state = fields(self.pid).and_then(|mut fields| fields.next());
        let ended = state.is_none_or(|state| state == "Z" || state == "X");
        !ended && Self::of(self.pid) == Some(self)
    }
}

/// Place of the start time behind the program's name (proc(5), field 22).
const START: usize = 19;

/// Whether a process is stopped, as the tasks of a suspended job are.
#[must_use]
pub fn is_stopped(pid: pid_t) -> bool {
    fields(pid).and_then(|mut fields| fields.next()).as_deref() == Some("T")
}

/// The fields of `/proc/PID/stat` behind the name, which may hold anything.
fn fields(pid: pid_t) -> Option<impl Iterator<Item = String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<_> = rest.split_whitespace().map(String::from).collect();
    Some(fields.into_iter())
}

/// Looks after processes by descriptors of theirs, so that asking for hundreds is one system
/// call. A kernel or a limit that gives no descriptor makes it slower, not wrong.
#[derive(Debug, Default)]
pub struct Watch {
    known: HashMap<Process, OwnedFd>,
}

impl Watch {
    /// Which of these are alive, in their order.
    pub fn alive(&mut self, asked: &[Process]) -> Vec<bool> {
        for process in asked {
            if !self.known.contains_key(process)
                && let Some(fd) = open(*process)
            {
                self.known.insert(*process, fd);
            }
        }
        let ended = self.ended();
        let answer = |process: &Process| match self.known.contains_key(process) {
            true => !ended.contains(process),
            false => process.is_alive(),
        };
        let answers = asked.iter().map(answer).collect();
        self.known.retain(|process, _| !ended.contains(process));
        answers
    }

    /// Those of all known ones that have ended.
    fn ended(&self) -> HashSet<Process> {
        let known: Vec<_> = self.known.iter().collect();
        let mut polls: Vec<_> = known
            .iter()
            .map(|(_, fd)| PollFd::new(fd.as_fd(), PollFlags::POLLIN))
            .collect();
        if polls.is_empty() || poll(&mut polls, PollTimeout::ZERO).is_err() {
            return HashSet::new();
        }
        let ended = known.iter().zip(&polls);
        ended
            .filter(|(_, poll)| poll.any() == Some(true))
            .map(|((process, _), _)| **process)
            .collect()
    }

    /// How many descriptors are held.
    #[cfg(test)]
    fn held(&self) -> usize {
        self.known.len()
    }
}

/// A descriptor of exactly this process: opened first, compared then, so that the number
/// cannot have changed hands in between.
fn open(process: Process) -> Option<OwnedFd> {
    // SAFETY: the call takes two numbers (pidfd_open(2)) and touches no memory of ours.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, process.pid, 0) };
    let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0)?;
    // SAFETY: the kernel has just given it to us, close-on-exec, and nobody else knows it.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    (Process::of(process.pid) == Some(process)).then_some(fd)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_living_and_the_dead() {
        let mut children: Vec<_> = (0..3)
            .map(|_| Command::new("sleep").arg("60").spawn().unwrap())
            .collect();
        let of = |child: &std::process::Child| Process::of(child.id() as pid_t).unwrap();
        let mut asked: Vec<_> = children.iter().map(of).collect();
        asked.push(Process::own());
        let recycled = Process {
            start: asked[0].start + 1,
            ..asked[0]
        };
        asked.push(recycled);
        let mut watch = Watch::default();
        assert_eq!(watch.alive(&asked), [true, true, true, true, false]);
        assert_eq!(watch.held(), 4);
        children[1].kill().unwrap();
        while asked[1].is_alive() {
            std::thread::yield_now();
        }
        // A zombie has ended, though its number is not free yet.
        assert_eq!(watch.alive(&asked), [true, false, true, true, false]);
        children[1].wait().unwrap();
        assert_eq!(watch.alive(&asked), [true, false, true, true, false]);
        assert_eq!(watch.held(), 3, "who has ended is let go");
        assert!(!is_stopped(asked[0].pid));
        let pid = nix::unistd::Pid::from_raw(asked[0].pid);
        nix::sys::signal::kill(pid, nix::sys::signal::SIGSTOP).unwrap();
        while !is_stopped(asked[0].pid) {
            std::thread::yield_now();
        }
        for child in &mut children {
            let _ = child.kill();
            let _ = child.wait();
        }
        assert_eq!(watch.alive(&[]), Vec::<bool>::new());
        assert_eq!(watch.held(), 1);
    }
}
