//! Threads that go before real-time tasks for a while. A number may pass to another thread at any time, so each is looked
//! at before it is raised and once more after that, and it is known by the time at which it began.

use std::io;

use super::members::{Thread, threads};
use super::stat::Stat;
use super::stepds::{Stepd, is_slurmstepd};
use crate::priority::{
    has_bound, is_before_realtime, is_realtime, set_before_realtime, set_ordinary,
};

/// A thread that goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Risen {
    pub thread: Thread,
    /// When it began, as the kernel counts.
    pub start: u64,
}

impl Risen {
    /// Lets a thread go first for which something holds, and still does afterwards.
    pub(super) fn new(thread: Thread, holds: impl Fn(&Stat) -> bool) -> Option<Self> {
        Stat::of(thread).filter(&holds)?;
        let risen = Self::raised(thread).ok()?;
        match risen.stat().is_some_and(|now| holds(&now)) {
            true => Some(risen),
            false => {
                let _ = set_ordinary(thread.number);
                None
            }
        }
    }

    /// Lets a thread go first that the caller looks at before and afterwards. A real-time one that is not ours stays as
    /// it is.
    fn raised(thread: Thread) -> io::Result<Self> {
        let risen = Self::found(thread).ok_or(io::ErrorKind::NotFound)?;
        if is_before_realtime(thread.number) {
            return Ok(risen);
        }
        if is_realtime(thread.number) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        set_before_realtime(thread.number).map(|()| risen)
    }

    /// One that somebody else has raised.
    pub(super) fn found(thread: Thread) -> Option<Self> {
        let start = Stat::of(thread)?.start;
        Some(Self { thread, start })
    }

    /// What it does now; nothing if it has ended.
    pub(super) fn stat(self) -> Option<Stat> {
        Stat::of(self.thread).filter(|now| now.start == self.start)
    }

    /// Makes it an ordinary one. Returns whether it was none.
    pub(super) fn lower(self) -> bool {
        let number = self.thread.number;
        is_before_realtime(number) && self.stat().is_some() && set_ordinary(number).is_ok()
    }
}

/// Lets all threads of a slurmstepd go first. Those that do so already cost no look at what they do. Returns them, and
/// whether the kernel has refused it to one, or its process has a bound on it.
pub(super) fn rise(stepd: &Stepd, before: Vec<Risen>) -> (Vec<Risen>, bool) {
    let listed = || threads(&[stepd.process]);
    let is_known = |one: &Thread| before.iter().any(|known| known.thread == *one);
    let (known, new): (Vec<_>, Vec<_>) = listed()
        .into_iter()
        .partition(|one| is_before_realtime(one.number) && is_known(one));
    let mut risen = before;
    risen.retain(|one| known.contains(&one.thread));
    let is_it = || stepd.lives() && is_slurmstepd(stepd.process, &[]);
    if new.is_empty() || !is_it() {
        return (risen, false);
    }
    // Those of a bounded process stay as they are: the kernel would end it.
    if has_bound(stepd.process) {
        return (risen, true);
    }
    let mut is_refused = false;
    let mut raised = Vec::new();
    for one in new {
        match Risen::raised(one) {
            Ok(one) => raised.push(one),
            Err(why) => is_refused |= why.raw_os_error() == Some(libc::EPERM),
        }
    }
    let still = match is_it() {
        true => listed(),
        false => Vec::new(),
    };
    for one in raised {
        match still.contains(&one.thread) {
            true => risen.push(one),
            false => drop(set_ordinary(one.thread.number)),
        }
    }
    (risen, is_refused)
}

#[cfg(test)]
mod tests {
    use super::super::fake::{self, end, pid, program};
    use super::super::stepds::Stepds;
    use super::*;

    /// Makes a process one that nobody should make another one.
    fn make_idle(process: libc::pid_t) {
        let none = libc::sched_param { sched_priority: 0 };
        // SAFETY: the kernel reads a record that lives until the call returns.
        let code = unsafe { libc::sched_setscheduler(process, libc::SCHED_IDLE, &none) };
        assert_eq!(code, 0);
    }

    fn policy(process: libc::pid_t) -> i32 {
        // SAFETY: it takes a number and touches no memory of ours.
        unsafe { libc::sched_getscheduler(process) }
    }

    #[test]
    fn a_process_with_the_number_of_a_slurmstepd_that_has_ended_stays_as_it_is() {
        if !fake::may_rise() {
            return;
        }
        let (programs, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let child = program(programs.path());
        fake::step(dir.path(), "job_1/step_0", Some(&child));
        let mut found = Stepds::default();
        found.refresh(&fake::open(dir.path()), std::time::Instant::now());
        let stepd = found.all().next().unwrap().clone();
        let ended = Stepd {
            start: stepd.start - 1,
            ..stepd.clone()
        };
        make_idle(pid(&child));
        assert_eq!(rise(&ended, Vec::new()), (Vec::new(), false));
        assert_eq!(policy(pid(&child)), libc::SCHED_IDLE);
        // This one lives.
        let (risen, is_refused) = rise(&stepd, Vec::new());
        assert!(!is_refused && risen.len() == 1 && is_before_realtime(pid(&child)));
        assert_eq!(rise(&stepd, risen.clone()).0, risen);
        let other = Risen {
            start: risen[0].start - 1,
            ..risen[0]
        };
        assert!(!other.lower() && is_realtime(pid(&child)));
        assert!(risen[0].lower() && !risen[0].lower());
        assert!(!is_realtime(pid(&child)));
        // A minute, which it does not come near.
        fake::bound(pid(&child), 60_000_000);
        assert_eq!(rise(&stepd, Vec::new()), (Vec::new(), true));
        assert!(!is_realtime(pid(&child)));
        end(child);
    }

    #[test]
    fn what_does_not_hold_and_what_is_a_real_time_thread_already_stays_as_it_is() {
        if !fake::may_rise() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let child = program(dir.path());
        let thread = Thread {
            process: pid(&child),
            number: pid(&child),
        };
        make_idle(thread.number);
        assert_eq!(Risen::new(thread, |_| false), None);
        assert_eq!(policy(thread.number), libc::SCHED_IDLE);
        // A task of a pool.
        crate::priority::set_realtime(thread.number).unwrap();
        assert_eq!(Risen::new(thread, |_| true), None);
        assert_eq!(policy(thread.number), libc::SCHED_RR);
        end(child);
    }
}
