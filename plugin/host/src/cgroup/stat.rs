//! What the kernel says of one thread in `/proc/PID/task/TID/stat`.

use std::fs;

use super::members::Thread;

/// Places behind the program's name (proc(5), fields 9, 22 and 31).
const FLAGS: usize = 6;
const START: usize = 19;
const SIGNAL: usize = 28;
/// The thread is on its way out (`PF_EXITING`).
const EXITING: u64 = 0x4;
/// `SIGKILL` waits for it. The kernel sends that to each thread of a process that any signal ends.
const KILLED: u64 = 1 << (libc::SIGKILL - 1);

/// A thread at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    /// The kernel's letter: R runs, or waits for a CPU.
    pub state: char,
    /// When it began, as the kernel counts.
    pub start: u64,
    /// Whether it will never run a user's instruction again.
    pub is_dying: bool,
}

impl Stat {
    /// Nothing if there is no such thread.
    pub(super) fn of(thread: Thread) -> Option<Self> {
        let Thread { process, number } = thread;
        let text = fs::read(format!("/proc/{process}/task/{number}/stat")).ok()?;
        Self::read(&String::from_utf8_lossy(&text))
    }

    fn read(text: &str) -> Option<Self> {
        let rest = text.rsplit(')').next()?;
        let fields: Vec<_> = rest.split_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        Some(Self {
            state: fields.first()?.chars().next()?,
            start: number(START)?,
            is_dying: number(FLAGS)? & EXITING != 0 || number(SIGNAL)? & KILLED != 0,
        })
    }

    /// Whether it runs or waits for a CPU.
    pub(super) fn is_ready(self) -> bool {
        self.state == 'R'
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_runs_is_not_dying() {
        let own = Thread {
            process: std::process::id() as libc::pid_t,
            // SAFETY: it only returns the thread's number.
            number: unsafe { libc::gettid() },
        };
        let stat = Stat::of(own).unwrap();
        assert!(stat.is_ready() && !stat.is_dying && stat.start > 0);
        let zombie = std::process::Command::new("true").spawn().unwrap();
        let number = zombie.id() as libc::pid_t;
        let thread = Thread {
            process: number,
            number,
        };
        while Stat::of(thread).unwrap().state != 'Z' {
            std::thread::yield_now();
        }
        assert!(Stat::of(thread).unwrap().is_dying);
        drop(zombie.wait_with_output());
        assert_eq!(Stat::of(thread), None);
    }

    #[test]
    fn a_killed_thread_is_dying_before_it_runs() {
        let line = |flags: u64, signal: u64| {
            format!(
                "7 (a) b) R 1 7 7 0 -1 {flags} 0 0 0 0 0 0 0 0 20 0 3 0 999 0 0 18446744073709551615 0 0 0 0 0 {signal} 0"
            )
        };
        let dies = |flags, signal| Stat::read(&line(flags, signal)).unwrap().is_dying;
        assert!(!dies(0x40_0000, 0) && !dies(0x40_0000, 1 << 14));
        assert!(dies(0x40_0000, 0x100) && dies(0x40_0004, 0));
        assert_eq!(Stat::read(&line(0, 0)).unwrap().start, 999);
        assert_eq!(Stat::read("7 (x) R 1"), None);
    }
}
