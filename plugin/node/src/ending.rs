//! Whether somebody ends tasks that wait for CPUs: they must be able to hear it, and what they have started
//! must learn of it. In: tasks. Out: yes or no, by what is new since they were frozen.

use std::io::ErrorKind;

use berth_host::{kernel_text, living_thread};
use libc::pid_t;

/// SIGTERM in the masks of /proc.
const TERM: u64 = 1 << (libc::SIGTERM - 1);

/// Tasks, and what /proc said of each when they were frozen: a user may have signals pending for reasons of his own.
#[derive(Debug, Default)]
pub(crate) struct Tasks(Vec<(pid_t, Signs)>);

/// The signs of a task's end in its state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Signs {
    is_zombie: bool,
    has_term: bool,
}

impl Tasks {
    pub(crate) fn of(tasks: impl Iterator<Item = pid_t>) -> Self {
        let known = |pid| Some((pid, look(pid)??));
        Self(tasks.filter_map(known).collect())
    }

    /// Whether one of them has ended meanwhile, or has got a SIGTERM.
    pub(crate) fn are_being_ended(&self) -> bool {
        self.0.iter().any(|(pid, before)| match look(*pid) {
            Some(Some(now)) => {
                (now.is_zombie && !before.is_zombie) || (now.has_term && !before.has_term)
            }
            Some(None) => true,
            None => false,
        })
    }
}

/// `None` if the kernel does not answer, and inside it `None` if the task is gone.
fn look(pid: pid_t) -> Option<Option<Signs>> {
    match kernel_text::read(format!("/proc/{pid}/status")) {
        Ok(status) => {
            let signs = Signs::of(&status);
            // The first thread may end before the others.
            let is_zombie = signs.is_zombie && living_thread(pid).is_none();
            Some(Some(Signs { is_zombie, ..signs }))
        }
        Err(why) if why.kind() == ErrorKind::NotFound => Some(None),
        Err(why) if why.raw_os_error() == Some(libc::ESRCH) => Some(None),
        Err(_) => None,
    }
}

impl Signs {
    fn of(status: &str) -> Self {
        let pending = status.lines().filter_map(|line| {
            let mask = line.strip_prefix("SigPnd:");
            let mask = mask.or_else(|| line.strip_prefix("ShdPnd:"))?;
            u64::from_str_radix(mask.trim(), 16).ok()
        });
        Self {
            is_zombie: status.lines().any(|line| line.starts_with("State:\tZ")),
            has_term: pending.fold(0, |all, mask| all | mask) & TERM != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_new_counts() {
        let signs = |is_zombie, has_term| Signs {
            is_zombie,
            has_term,
        };
        let text = "Name:\t\u{fffd}\nState:\tS (sleeping)\nSigPnd:\t0000000000004000\nShdPnd:\t0\n";
        assert_eq!(Signs::of(text), signs(false, true));
        assert_eq!(
            Signs::of("State:\tZ (zombie)\nShdPnd:\t0\n"),
            signs(true, false)
        );
        // kill(2) sends to the process, not to one of its threads.
        let of_process = "State:\tS (sleeping)\nSigPnd:\t0\nShdPnd:\t0000000000004000\n";
        assert_eq!(Signs::of(of_process), signs(false, true));
        let own = std::process::id() as pid_t;
        assert!(!Tasks::of([own].into_iter()).are_being_ended());
        assert!(Tasks(vec![(pid_t::MAX, signs(false, false))]).are_being_ended());
        // One that was gone before is nobody who ends now.
        assert!(!Tasks::of([pid_t::MAX].into_iter()).are_being_ended());
    }
}
