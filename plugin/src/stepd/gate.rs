//! Tasks that wait before their programs start, until slurmstepd says whether they may. Slurm takes such a step
//! for a running one, so it can be signalled and cancelled; a wait before the fork could not be.

use std::io;

use crate::stepd::shared_word::SharedWord;

const CLOSED: u32 = 0;
const OPEN: u32 = 1;
const REFUSED: u32 = 2;
/// So often a waiting task looks whether its slurmstepd still lives.
const LOOK_SECONDS: i64 = 1;

/// So much longer than its step a task waits for somebody who opens.
const MORE_SECONDS: i64 = 30;

/// The signals that a program can catch have numbers below this.
const SIGNALS: libc::c_int = 32;

/// The gate of a step.
pub(crate) struct Gate {
    word: SharedWord,
    /// The longest wait.
    looks: i64,
}

impl Gate {
    /// In the parent, before the first fork. It is closed, and is to be opened or refused within so many seconds.
    pub(crate) fn new(seconds: u16) -> io::Result<Self> {
        Ok(Self {
            word: SharedWord::new()?,
            looks: (i64::from(seconds) + MORE_SECONDS) / LOOK_SECONDS,
        })
    }

    /// In the parent: the tasks start.
    pub(crate) fn open(&self) {
        self.word.set(OPEN);
    }

    /// In the parent: the tasks end without having started, unless they have.
    pub(crate) fn refuse(&self) {
        if self.word.get() == CLOSED {
            self.word.set(REFUSED);
        }
    }

    /// In a task: waits, and returns whether it may start. It may not once its slurmstepd is gone.
    pub(crate) fn passes(&self) -> bool {
        let parent = nix::unistd::getppid();
        for _ in 0..self.looks {
            match self.word.wait(CLOSED, LOOK_SECONDS) {
                OPEN => return true,
                CLOSED if nix::unistd::getppid() == parent => {}
                _ => return false,
            }
        }
        false
    }
}

/// In a task that may wait before its program, also frozen: from 24.05 on it inherits slurmstepd's signal handlers, which
/// do nothing in it, and it would not hear its SIGTERM. Its program begins without handlers anyway; signals that are ignored stay so.
pub(crate) fn forget_handlers() {
    for signal in 1..SIGNALS {
        // SAFETY: all zeros are a valid sigaction; the kernel fills it, and takes back one that is ours.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0
                && !matches!(action.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN)
            {
                action.sa_sigaction = libc::SIG_DFL;
                libc::sigaction(signal, &raw const action, std::ptr::null_mut());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_task_waits_until_it_is_told() {
        for opens in [true, false] {
            let gate = Gate::new(1).unwrap();
            thread::scope(|scope| {
                let task = scope.spawn(|| {
                    let mut passes = false;
                    let calls = crate::site::count_allocations::during(|| passes = gate.passes());
                    (passes, calls)
                });
                thread::sleep(Duration::from_millis(50));
                assert!(!task.is_finished());
                match opens {
                    true => gate.open(),
                    false => gate.refuse(),
                }
                assert_eq!(task.join().unwrap(), (opens, 0));
            });
            // What was decided stays.
            gate.refuse();
            assert_eq!(gate.passes(), opens);
        }
    }
}
