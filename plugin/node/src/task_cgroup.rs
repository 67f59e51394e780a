//! One task's own cgroup, `…/step_N/user/task_N`: it gets other CPUs, and its threads other masks; it is frozen, and
//! goes on. In: a place, what it had, what it is to have. Out: the kernel's files and masks.

use berth_host::cgroup::members::{self, Thread};
use berth_host::cgroup::{Fence, FenceError, Folder, Place, Version, Written, freezer};
use berth_host::ledger::TaskCgroup;
use berth_host::{affinity_of, set_affinity};
use berth_placement::strategy::cpuset::moved;
use berth_placement::{CpuSet, Node};

/// A cpuset that goes from some CPUs to others on a node.
#[derive(Clone, Copy)]
pub(crate) struct Way<'a> {
    pub node: &'a Node,
    pub from: &'a CpuSet,
    pub to: &'a CpuSet,
}

impl Way<'_> {
    /// Where some CPUs of the cpuset are then.
    pub(crate) fn of(&self, cpus: &CpuSet) -> CpuSet {
        moved(self.node, (self.from, self.to), cpus)
    }

    /// A task's cgroup after the change, within its step's reach. A task whose place the step does not reach has all of
    /// the step's; a step that reaches none of it stays where it is.
    pub(crate) fn leaf(&self, leaf: &TaskCgroup, reach: &CpuSet) -> TaskCgroup {
        if self.from == self.to {
            return leaf.clone();
        }
        let inside = |cpus: &CpuSet| self.of(cpus).intersection(reach);
        let all = self.to.intersection(reach);
        let or_all = |cpus: CpuSet| if cpus.is_empty() { all.clone() } else { cpus };
        match all.is_empty() {
            true => leaf.clone(),
            false => TaskCgroup {
                cpus: or_all(inside(&leaf.cpus)),
                fence: or_all(inside(&leaf.fence)),
                ..leaf.clone()
            },
        }
    }
}

/// A change of a task's cgroup.
pub(crate) struct Change<'a> {
    pub before: &'a TaskCgroup,
    pub after: &'a TaskCgroup,
    pub way: Way<'a>,
    /// Whether the kernel may have forgotten masks: before 6.2 it gives threads all CPUs of their cgroup when a CPU
    /// goes or comes.
    pub is_reset: bool,
}

impl Change<'_> {
    /// Writes the fence, and then the masks, which such kernels forget at that write.
    ///
    /// # Errors
    /// [`FenceError`]: it then has the step's CPUs, and the threads have their masks as far as these allow.
    pub(crate) fn apply(&self, place: &Place) -> Result<(), FenceError> {
        let folder = place.open()?;
        let threads = self.threads(&folder);
        let fence = Fence {
            cpus: &self.after.fence,
            mems: None,
        };
        // A fence that held is kept while all of its CPUs are offline: without one the task could run on every CPU.
        let written = match self.before.fence == self.after.fence {
            true => fence.cpus_again(&folder, &mut trace),
            false => fence.cpus(&folder, Version::V2, &mut trace),
        };
        let threads = threads.iter().filter(|(thread, _)| thread.lives());
        let count = threads.clone().count();
        for (thread, mask) in threads {
            // A thread that has just ended needs none.
            let _ = set_affinity(thread.number, mask);
        }
        log::debug!(
            "{place}: {count} threads have masks in {}",
            self.after.fence
        );
        written
    }

    /// The threads that get a mask.
    fn threads(&self, folder: &Folder) -> Vec<(Thread, CpuSet)> {
        let has = folder.cpus("cpuset.cpus.effective");
        let threads = members::threads(&members::processes(folder)).into_iter();
        let masks = threads.filter_map(|thread| {
            let found = affinity_of(thread.number).ok()?;
            Some((thread, self.mask(&found, &has)?))
        });
        masks.collect()
    }

    /// A thread's mask: that of the task, if it has the one from berth; the same places, if it has bound itself inside
    /// the cpuset. Any other is its own affair.
    fn mask(&self, found: &CpuSet, has: &CpuSet) -> Option<CpuSet> {
        let given = &self.before.cpus;
        let is_given = found == given || *found == given.intersection(has);
        let is_lost = found == has || !found.intersects(&self.after.fence);
        if is_given || self.is_reset && is_lost {
            return Some(self.after.cpus.clone());
        }
        let places = self.way.of(found).intersection(&self.after.fence);
        let moves = self.way.from != self.way.to && found.is_subset(self.way.from);
        (moves && !places.is_empty()).then_some(places)
    }
}

/// A cgroup of processes that the job's extern step has adopted follows, as far as it is in the cpuset.
pub(crate) fn follow(place: &Place, way: Way<'_>) -> Result<(), FenceError> {
    let folder = place.open()?;
    let fence = folder.cpus("cpuset.cpus");
    let before = TaskCgroup {
        name: String::new(),
        cpus: way.from.clone(),
        fence: fence.clone(),
        has_own_memory: true,
    };
    let is_inside = !fence.is_empty() && fence.is_subset(way.from);
    let after = TaskCgroup {
        cpus: way.to.clone(),
        fence: if is_inside { way.of(&fence) } else { fence },
        ..before.clone()
    };
    let change = Change {
        before: &before,
        after: &after,
        way,
        is_reset: false,
    };
    match is_inside {
        true => change.apply(place),
        false => {
            for (thread, mask) in change.threads(&folder) {
                let _ = set_affinity(thread.number, &mask);
            }
            Ok(())
        }
    }
}

/// Freezes it, or lets it go on.
pub(crate) fn freeze(place: &Place, freezes: bool) -> Result<(), FenceError> {
    freezer::freeze(&place.open()?, freezes, &mut trace)
}

/// Each write is a line of the log.
pub(crate) fn trace(written: &Written) {
    log::debug!("{written}");
}

#[cfg(test)]
mod tests {
    use berth_placement::{Machine, Numbering, Rules, SocketKind};

    use super::*;

    fn set(list: &str) -> CpuSet {
        CpuSet::from_list(list).unwrap()
    }

    /// A task that was given CPUs 0-1 of a cpuset with 0-3, of which CPU 1 goes offline and comes back, and which
    /// goes to CPUs 4-7.
    #[test]
    fn threads_keep_their_places() {
        let machine = Machine::regular(1, 8, 1, Numbering::Block).unwrap();
        let node = Node::of(machine, SocketKind::Package, Rules::default());
        let leaf = |cpus: &str, fence: &str| TaskCgroup {
            cpus: set(cpus),
            fence: set(fence),
            ..TaskCgroup::default()
        };
        let (before, after) = (leaf("0-1", "0-3"), leaf("4-5", "4-7"));
        let (from, to) = (set("0-3"), set("4-7"));
        let mask = |found: &str, has: &str, moves: bool, is_reset| {
            let (after, to) = if moves {
                (&after, &to)
            } else {
                (&before, &from)
            };
            let way = Way {
                node: &node,
                from: &from,
                to,
            };
            let change = Change {
                before: &before,
                after,
                way,
                is_reset,
            };
            let mask = change.mask(&set(found), &set(has));
            mask.map_or_else(|| "-".to_owned(), |mask| mask.to_string())
        };
        for (found, has, stays, reset, goes) in [
            ("0-1", "0-3", "0-1", "0-1", "4-5"),
            // What is left of it, while a CPU is offline.
            ("0", "0,2-3", "0-1", "0-1", "4-5"),
            ("0-1", "0,2-3", "0-1", "0-1", "4-5"),
            // Kernels before 6.2 give all of the cgroup's CPUs when one goes or comes.
            ("0,2-3", "0,2-3", "-", "0-1", "4,6-7"),
            ("0-3", "0-3", "-", "0-1", "4-7"),
            // The thread has chosen these itself.
            ("1", "0-3", "-", "-", "5"),
            ("2-3", "0,2-3", "-", "-", "6-7"),
            ("8-9", "0-3", "-", "0-1", "-"),
        ] {
            let found = [
                mask(found, has, false, false),
                mask(found, has, false, true),
                mask(found, has, true, false),
            ];
            assert_eq!(found, [stays, reset, goes], "{has}");
        }
    }
}
