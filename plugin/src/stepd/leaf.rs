//! A task's own cgroup, which Slurm made and berth wrote: its CPUs, and the mask that the task has there.
//! The watcher freezes it, and gives it other CPUs.

use berth_host::cgroup::members::Thread;
use berth_host::cgroup::{Fence, FenceError, Folder, Place, Version, Written, freezer, members};
use berth_host::{affinity_of, set_affinity};
use berth_placement::CpuSet;
use libc::pid_t;

/// The cgroup of one task.
#[derive(Clone, Debug)]
pub(crate) struct Leaf {
    /// The task itself.
    pub pid: pid_t,
    pub place: Place,
    /// What was written into it.
    pub fence: CpuSet,
    /// The mask that the task was given.
    pub mask: CpuSet,
    /// Whether its memory is bound by a `--mem-bind`.
    pub has_own_memory: bool,
    /// Whether berth has frozen it.
    pub is_frozen: bool,
}

/// Which threads have the mask that berth gave them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ours {
    /// Those with that mask.
    Given,
    /// Also those with all CPUs of the cgroup: kernels before 6.2 give them when a CPU goes or comes.
    OrReset,
}

impl Leaf {
    /// Freezes it, or thaws it.
    pub(crate) fn freeze(&mut self, freezes: bool, step: &str) -> Result<(), FenceError> {
        freezer::freeze(&self.place.open()?, freezes, &mut trace(step))?;
        self.is_frozen = freezes;
        Ok(())
    }

    /// Its processes.
    pub(crate) fn processes(&self) -> Vec<pid_t> {
        let folder = self.place.open();
        folder.map_or_else(|_| Vec::new(), |folder| members::processes(&folder))
    }

    /// Gives it other CPUs, and the mask to those threads that have the one from berth.
    ///
    /// # Errors
    /// [`FenceError`]: it then has the step's CPUs, and the threads have the mask as far as these allow.
    pub(crate) fn put(
        &mut self,
        (fence, mask): (CpuSet, CpuSet),
        ours: Ours,
        step: &str,
    ) -> Result<(), FenceError> {
        let folder = self.place.open()?;
        let threads = self.given(&folder, ours);
        let set = Fence {
            cpus: &fence,
            mems: None,
        };
        let written = set.cpus(&folder, Version::V2, &mut trace(step));
        self.fence = fence;
        // Kernels before 6.2 forget the masks at that write.
        self.bind(&threads, mask, step);
        written
    }

    /// Gives it the CPUs again that it has, after some of them went offline or came back, and the mask to those threads that
    /// the kernel gave another one. Its fence stays written even while none of its CPUs is online: without one the task could
    /// run on every CPU, also once they are back.
    ///
    /// # Errors
    /// [`FenceError`]: none of its CPUs is online, or there is no cgroup.
    pub(crate) fn put_again(&mut self, step: &str) -> Result<(), FenceError> {
        let folder = self.place.open()?;
        let threads = self.given(&folder, Ours::OrReset);
        let set = Fence {
            cpus: &self.fence,
            mems: None,
        };
        let written = set.cpus_again(&folder, &mut trace(step));
        self.bind(&threads, self.mask.clone(), step);
        written
    }

    /// Gives the mask to those threads that have the one from berth, and leaves the cgroup as it is.
    ///
    /// # Errors
    /// [`FenceError`]: there is no cgroup.
    pub(crate) fn rebind(&mut self, mask: CpuSet, step: &str) -> Result<(), FenceError> {
        let folder = self.place.open()?;
        let threads = self.given(&folder, Ours::Given);
        self.bind(&threads, mask, step);
        Ok(())
    }

    /// The threads that have the mask from berth.
    fn given(&self, folder: &Folder, ours: Ours) -> Vec<Thread> {
        let has = effective(folder);
        let mut threads = members::threads(&members::processes(folder));
        threads.retain(|thread| {
            affinity_of(thread.number).is_ok_and(|found| self.is_given(&found, &has, ours))
        });
        threads
    }

    fn bind(&mut self, threads: &[Thread], mask: CpuSet, step: &str) {
        for thread in threads.iter().filter(|thread| thread.lives()) {
            // A thread that has just ended needs none.
            let _ = set_affinity(thread.number, &mask);
        }
        log::debug!(
            "{step}: {} threads in {} have CPUs {mask}",
            threads.len(),
            self.place
        );
        self.mask = mask;
    }

    fn is_given(&self, found: &CpuSet, has: &CpuSet, ours: Ours) -> bool {
        *found == self.mask
            || *found == self.mask.intersection(has)
            || ours == Ours::OrReset && found == has
    }
}

/// The CPUs that a cgroup really has.
fn effective(folder: &Folder) -> CpuSet {
    let text = folder.read("cpuset.cpus.effective").unwrap_or_default();
    CpuSet::from_list(&text).unwrap_or_default()
}

/// Each write is a line of slurmstepd's log.
pub(crate) fn trace(step: &str) -> impl FnMut(&Written) {
    move |Written { file, value, now }| {
        log::debug!("{step}: wrote {value:?} to {file}, which has {now:?}");
    }
}

#[cfg(test)]
mod tests {
    use berth_host::cgroup::Mounts;

    use super::*;

    fn set(list: &str) -> CpuSet {
        CpuSet::from_list(list).unwrap()
    }

    /// A task that was given CPUs 0-1 of a cgroup with 0-3, of which CPU 1 goes offline and comes back: which threads
    /// have berth's mask, and get it again.
    #[test]
    fn threads_that_bound_themselves_are_left_alone() {
        let Ok(place) = Place::of(0, &Mounts::read().unwrap_or_default()) else {
            return;
        };
        let leaf = Leaf {
            pid: 0,
            place,
            fence: set("0-3"),
            mask: set("0-1"),
            has_own_memory: false,
            is_frozen: false,
        };
        for (found, has, given, or_reset) in [
            ("0-1", "0-3", true, true),
            // What is left of it, while a CPU is offline.
            ("0", "0,2-3", true, true),
            ("0-1", "0,2-3", true, true),
            // Kernels before 6.2 give all of the cgroup's CPUs when one goes or comes.
            ("0,2-3", "0,2-3", false, true),
            ("0-3", "0-3", false, true),
            // The thread has chosen these itself.
            ("1", "0-3", false, false),
            ("2", "0-3", false, false),
            ("2-3", "0,2-3", false, false),
        ] {
            let is = |ours| leaf.is_given(&set(found), &set(has), ours);
            let is = (is(Ours::Given), is(Ours::OrReset));
            assert_eq!(is, (given, or_reset), "{found} in {has}");
        }
    }
}
