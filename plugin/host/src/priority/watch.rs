//! A thread that watches over the tasks of pools goes before them: they may have taken every CPU.
//! In: the calling thread. Out: the same as a real-time one, for as long as it watches.

use std::marker::PhantomData;

use berth_placement::{CpuId, CpuSet};
use libc::c_int;

use crate::affinity::{AffinityError, affinity_from_status, set_affinity};

use super::{has_bound, is_ordinary, policy, schedule, set_before_realtime};

/// While this lives the calling thread goes before the tasks of pools, of any priority: root's task may have raised its
/// own. Its children are ordinary ones.
#[derive(Debug)]
pub struct BeforePools {
    policy: c_int,
    /// It is of one thread.
    _own: PhantomData<*const ()>,
}

impl BeforePools {
    /// Nothing where the kernel refuses it ([`super::realtime_refusal`]), or the thread has a priority of its own already,
    /// or its process has a bound on how long a real-time thread may run (`LimitRTTIME=` of slurmd's unit): the kernel
    /// ends a process that exceeds it.
    #[must_use]
    pub fn begin() -> Option<Self> {
        let policy = policy(0);
        let begun = !has_bound(0) && is_ordinary(policy) && set_before_realtime(0).is_ok();
        // It is made only then: one that is dropped at once would undo what somebody else has given.
        begun.then(|| Self {
            policy,
            _own: PhantomData,
        })
    }

    /// Moves the thread from these CPUs, where it is on one and may use others: what a real-time thread uses of a CPU is
    /// lost to the pool's tasks there, and the kernel moves none that has a CPU. It may use the same CPUs as before.
    ///
    /// # Errors
    /// [`AffinityError`] where the thread keeps to the other CPUs.
    pub fn leave(&self, cpus: &CpuSet) -> Result<(), AffinityError> {
        if !on().is_some_and(|cpu| cpus.contains(cpu)) {
            return Ok(());
        }
        // The kernel's other answer, sched_getaffinity(2), has no CPUs that are offline.
        let Ok(allowed) = affinity_from_status(gettid()) else {
            return Ok(());
        };
        // The kernel refuses CPUs of which none is online.
        match set_affinity(0, &allowed.difference(cpus)) {
            Ok(()) => set_affinity(0, &allowed),
            Err(_) => Ok(()),
        }
    }
}

/// The CPU on which the calling thread runs.
fn on() -> Option<CpuId> {
    // SAFETY: it takes nothing and touches no memory of ours.
    let cpu = unsafe { libc::sched_getcpu() };
    cpu.try_into().ok().map(CpuId)
}

fn gettid() -> libc::pid_t {
    nix::unistd::gettid().as_raw()
}

impl Drop for BeforePools {
    fn drop(&mut self) {
        // The kernel refuses no thread what it had.
        let _ = schedule(0, self.policy, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FIRST, HIGHEST, is_of_pool, priority};
    use super::*;

    fn watched(own: c_int) -> Option<c_int> {
        schedule(0, own, 0).unwrap();
        let begun = BeforePools::begin()?;
        let found = (policy(0), priority(0), is_of_pool(0));
        assert_eq!(found, (FIRST, Some(HIGHEST), false));
        assert!(BeforePools::begin().is_none(), "it is one already");
        let child = std::thread::spawn(|| policy(0)).join().unwrap();
        assert_eq!(child, libc::SCHED_OTHER);
        drop(begun);
        Some(policy(0))
    }

    #[test]
    fn the_thread_that_watches_goes_before_pools_and_is_what_it_was_afterwards() {
        for own in [libc::SCHED_BATCH, libc::SCHED_OTHER] {
            match std::thread::spawn(move || watched(own)).join().unwrap() {
                Some(after) => assert_eq!(after, own),
                None => eprintln!("skipped: the kernel refuses SCHED_RR here"),
            }
        }
    }

    /// On which CPUs a thread was before and after it left the first. `None`: it cannot be a real-time one, or has one CPU.
    fn left() -> Option<(CpuId, CpuId)> {
        let begun = BeforePools::begin()?;
        let allowed = affinity_from_status(gettid()).unwrap();
        let before = on().unwrap();
        begun.leave(&allowed).unwrap();
        begun.leave(&CpuSet::default()).unwrap();
        assert_eq!(on(), Some(before), "nowhere to go, or no reason to");
        if allowed.count() == 1 {
            return None;
        }
        begun.leave(&[before].into_iter().collect()).unwrap();
        assert_eq!(affinity_from_status(gettid()).unwrap(), allowed);
        Some((before, on()?))
    }

    #[test]
    fn the_thread_leaves_cpus_of_pools_and_may_use_them_again() {
        match std::thread::spawn(left).join().unwrap() {
            Some((before, after)) => assert_ne!(before, after),
            None => eprintln!("skipped: the kernel refuses SCHED_RR here, or there is one CPU"),
        }
    }
}
