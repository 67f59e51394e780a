//! How long threads ran, and how long they waited for a CPU while they could have run, as the kernel counts it for
//! each thread (`schedstat`).
//! In: threads, looked at again and again. Out: sums over those that lived at a look.

use std::collections::HashMap;
use std::fs;

use libc::pid_t;

use crate::cgroup::members::Thread;

/// Threads that are remembered.
const MOST: usize = 1 << 14;

/// Times of some threads, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// They ran.
    pub ran: u64,
    /// They waited for a CPU.
    pub waited: u64,
}

/// The sums so far.
#[derive(Debug, Default)]
pub struct Delays {
    known: HashMap<pid_t, Times>,
    sum: Times,
}

impl Delays {
    /// Looks at these threads, whatever was looked at before.
    pub fn look(&mut self, threads: &[Thread]) {
        let times = threads.iter().take(MOST);
        let times = times.filter_map(|thread| Some((thread.number, read(thread)?)));
        self.add(times.collect());
    }

    fn add(&mut self, now: HashMap<pid_t, Times>) {
        for (thread, now) in &now {
            let before = self.known.get(thread).copied().unwrap_or_default();
            // A number that another thread has meanwhile began at zero again.
            let before = match before.ran > now.ran || before.waited > now.waited {
                true => Times::default(),
                false => before,
            };
            self.sum.ran += now.ran - before.ran;
            self.sum.waited += now.waited - before.waited;
        }
        self.known = now;
    }

    /// The sums; nothing if the kernel counts nothing, or nothing was looked at.
    #[must_use]
    pub fn sum(&self) -> Option<Times> {
        (self.sum.ran > 0).then_some(self.sum)
    }
}

fn read(thread: &Thread) -> Option<Times> {
    let Thread { process, number } = thread;
    let text = fs::read_to_string(format!("/proc/{process}/task/{number}/schedstat")).ok()?;
    let mut words = text.split_whitespace();
    Some(Times {
        ran: words.next()?.parse().ok()?,
        waited: words.next()?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cgroup::members::threads;

    #[test]
    fn each_thread_counts_once_and_a_reused_number_twice() {
        let times = |ran, waited| Times { ran, waited };
        let look = |all: &[(pid_t, Times)]| all.iter().copied().collect::<HashMap<_, _>>();
        let mut delays = Delays::default();
        assert_eq!(delays.sum(), None);
        delays.add(look(&[(1, times(100, 10)), (2, times(50, 0))]));
        delays.add(look(&[(1, times(300, 10))]));
        assert_eq!(delays.sum(), Some(times(350, 10)));
        delays.add(look(&[(1, times(5, 1)), (2, times(50, 7))]));
        assert_eq!(delays.sum(), Some(times(405, 18)));
    }

    #[test]
    fn this_process_has_run() {
        let own = threads(&[std::process::id() as pid_t]);
        let mut delays = Delays::default();
        delays.look(&own);
        match read(&own[0]) {
            Some(_) => assert!(delays.sum().is_some()),
            None => eprintln!("skipped: this kernel has no schedstat"),
        }
    }
}
