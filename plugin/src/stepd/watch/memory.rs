//! A cpuset that has other CPUs takes its tasks' memory along, while they run: slice by slice, so that a job that
//! is suspended meanwhile is heard. In: the tasks' cgroups, NUMA nodes before and after. Out: a text for the log.
//!
//! Mandatory memory is a fence, `cpuset.mems`. The kernel moves all pages at once when that loses a node, and whoever
//! writes it waits for that. So it is widened before the tasks run, which moves nothing, and narrowed when the pages
//! have gone.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use berth_host::cgroup::{Fence, FenceError, Folder, Mounts, Place, Version};
use berth_host::migrate::{Moving, free_bytes};
use berth_placement::{CpuSet, NodeSet, NumaId, SetMemory};
use libc::pid_t;

use crate::stepd::leaf::{Leaf, trace};

/// Where a cpuset's memory was, and where it is to be.
pub(super) struct Move {
    /// The NUMA nodes of its CPUs before.
    pub from: NodeSet,
    /// Those of the CPUs that it has now.
    pub to: NodeSet,
    /// The memory nodes that it has now, with those of `MEM_LIST`.
    pub mems: NodeSet,
    pub memory: SetMemory,
}

/// Memory on its way.
pub(super) struct Follow {
    way: Move,
    /// What comes after the present cgroup.
    leaves: VecDeque<Leaf>,
    /// The present cgroup, if its fence is to be narrowed, and its processes that come after the present one.
    fence: Option<Folder>,
    processes: VecDeque<pid_t>,
    present: Option<Moving>,
    /// The present cgroup: a number may pass to a process elsewhere.
    place: Option<Place>,
    mounts: Mounts,
    /// Moving ends then, whatever is left.
    end: Instant,
    pub moved: Moved,
}

/// So long all of a step's memory may take.
const LONGEST: Duration = Duration::from_secs(600);

/// What became of the memory.
#[derive(Debug, Default)]
pub(super) struct Moved {
    /// Pages that went along.
    pub gone: u64,
    /// Pages that stayed.
    pub left: u64,
    /// The first reason why something stayed.
    pub why: Option<String>,
}

impl Move {
    fn is_mandatory(&self) -> bool {
        matches!(self.memory, SetMemory::Only { .. })
    }

    fn leaving(&self) -> NodeSet {
        self.from.difference(&self.to)
    }

    /// The nodes to which pages go.
    fn coming(&self) -> NodeSet {
        let coming = self.to.difference(&self.from);
        match coming.is_empty() {
            true => self.to.clone(),
            false => coming,
        }
    }

    /// The old nodes and the new ones.
    fn both(&self) -> NodeSet {
        self.mems.iter().chain(self.from.iter()).collect()
    }

    /// Whether there is nothing to do.
    fn stays(&self) -> bool {
        let is_wider = !self.to.difference(&self.from).is_empty();
        self.leaving().is_empty() && !(is_wider && self.is_mandatory())
    }
}

impl Follow {
    /// Before the tasks run: what their memory needs. `before` is memory that is still on its way.
    pub(super) fn begin(
        mut way: Move,
        leaves: &[Leaf],
        before: Option<Self>,
        step: &str,
    ) -> Option<Self> {
        let before = before.map(|before| (before.way.from, before.moved));
        let (from, mut moved) = before.unwrap_or_default();
        way.from = way.from.iter().chain(from.iter()).collect();
        // One that has bound its memory itself keeps it where it is.
        let leaves = leaves.iter().filter(|leaf| !leaf.has_own_memory);
        let leaves: VecDeque<_> = leaves.cloned().collect();
        // An earlier move may have left a fence wider, or narrower than it is to be.
        let fences = leaves.iter().filter(|_| way.is_mandatory());
        let fences: Vec<_> = fences.filter_map(mems_of).collect();
        let is_fenced = fences.iter().all(|mems| *mems == way.mems);
        let all = way.from.iter().chain(fences.iter().flat_map(NodeSet::iter));
        way.from = all.collect();
        if way.stays() && is_fenced {
            return None;
        }
        for leaf in leaves.iter().filter(|_| way.is_mandatory()) {
            let folder = leaf.place.open();
            let done = folder.and_then(|folder| write_mems(&folder, &way.both(), step));
            // Without its cgroup there is nobody who needs memory.
            if let Err(why) = done
                && leaf.place.exists()
            {
                moved.why.get_or_insert(why.to_string());
            }
        }
        Some(Self {
            way,
            leaves,
            fence: None,
            processes: VecDeque::new(),
            present: None,
            place: None,
            mounts: Mounts::read().unwrap_or_default(),
            end: Instant::now() + LONGEST,
            moved,
        })
    }

    /// Moves a slice; whether there may be more.
    pub(super) fn go_on(&mut self, step: &str) -> bool {
        if Instant::now() > self.end {
            let text = format!("after {} s the rest was left", LONGEST.as_secs());
            self.moved.why.get_or_insert(text);
            return false;
        }
        let pid = self.processes.front().copied();
        if pid.is_some_and(|pid| !self.is_there(pid)) {
            self.present = None;
            self.processes.pop_front();
            return true;
        }
        if let Some(present) = &mut self.present {
            match present.slice() {
                Ok(Some(slice)) => {
                    self.moved.gone += slice.moved;
                    self.moved.left += slice.left;
                    return true;
                }
                Ok(None) => {}
                Err(why) => self.stayed(present_pid(&self.processes), &why),
            }
            self.present = None;
            self.processes.pop_front();
        }
        if let Some(pid) = self.processes.front().copied() {
            match Moving::begin(pid, &self.way.leaving(), &self.way.coming()) {
                Ok(present) => self.present = Some(present),
                Err(why) => {
                    self.stayed(pid, &why);
                    self.processes.pop_front();
                }
            }
            return true;
        }
        if let Some(folder) = self.fence.take()
            && let Err(why) = write_mems(&folder, &self.way.mems, step)
        {
            self.moved.why.get_or_insert(why.to_string());
        }
        let next = self.leaves.pop_front();
        if let Some(leaf) = &next {
            self.enter(leaf);
        }
        next.is_some()
    }

    /// Whether a process is in the present cgroup.
    fn is_there(&self, pid: pid_t) -> bool {
        let place = Place::of(pid, &self.mounts);
        let holds = |own: &Place| place.is_ok_and(|place| own.holds(&place));
        self.place.as_ref().is_some_and(holds)
    }

    /// The next cgroup. Where its mandatory memory has no room in the new nodes, the old ones stay allowed: better
    /// there than in the hands of the OOM killer.
    fn enter(&mut self, leaf: &Leaf) {
        let Ok(folder) = leaf.place.open() else {
            return;
        };
        if self.way.is_mandatory() {
            let used = folder.read("memory.current").ok();
            let used: u64 = used.and_then(|text| text.parse().ok()).unwrap_or(0);
            let free: Option<u64> = self.way.mems.iter().map(free_bytes).sum();
            if let Some(free) = free.filter(|free| used > *free) {
                let text = format!(
                    "its {used} bytes have no room in the memory of its CPUs, {free} bytes are free there; it \
                     keeps the memory that it had, too"
                );
                self.moved.why.get_or_insert(text);
                return;
            }
            self.fence = Some(folder);
        }
        self.place = Some(leaf.place.clone());
        self.processes = leaf.processes().into();
    }

    fn stayed(&mut self, pid: pid_t, why: &std::io::Error) {
        // It has ended.
        if matches!(why.raw_os_error(), Some(libc::ESRCH | libc::ENOENT)) {
            return;
        }
        let text = format!("the memory of process {pid} stays where it is: {why}");
        self.moved.why.get_or_insert(text);
    }
}

fn present_pid(processes: &VecDeque<pid_t>) -> pid_t {
    processes.front().copied().unwrap_or_default()
}

/// The memory nodes that a fence has.
fn mems_of(leaf: &Leaf) -> Option<NodeSet> {
    let text = leaf.place.open().ok()?.read("cpuset.mems").ok()?;
    let list = CpuSet::from_list(&text).ok()?;
    Some(list.iter().map(|number| NumaId(number.0)).collect())
}

fn write_mems(folder: &Folder, mems: &NodeSet, step: &str) -> Result<(), FenceError> {
    let fence = Fence {
        cpus: &CpuSet::new(),
        mems: Some(mems),
    };
    fence.mems(folder, Version::V2, &mut trace(step))
}

#[cfg(test)]
mod tests {
    use berth_placement::NumaId;

    use super::*;

    #[test]
    fn where_pages_go() {
        let nodes = |list: &[u32]| list.iter().map(|node| NumaId(*node)).collect::<NodeSet>();
        let only = SetMemory::Only { swap: true };
        for (from, to, memory, leaving, coming, stays) in [
            (
                &[0][..],
                &[1][..],
                SetMemory::Open,
                &[0][..],
                &[1][..],
                false,
            ),
            (&[0], &[0], SetMemory::Open, &[], &[0], true),
            (&[0], &[0], only, &[], &[0], true),
            (&[0, 1], &[1], SetMemory::Open, &[0], &[1], false),
            (&[0], &[0, 1], SetMemory::Open, &[], &[1], true),
            // Its fence is to be wider.
            (&[0], &[0, 1], only, &[], &[1], false),
        ] {
            let way = Move {
                from: nodes(from),
                to: nodes(to),
                mems: nodes(to),
                memory,
            };
            let found = (way.leaving(), way.coming(), way.stays());
            assert_eq!(
                found,
                (nodes(leaving), nodes(coming), stays),
                "{from:?} {to:?}"
            );
        }
    }

    #[test]
    fn memory_on_its_way_leaves_all_nodes_where_it_was() {
        let node = |number| [NumaId(number)].into_iter().collect::<NodeSet>();
        let way = |from, to| Move {
            from: node(from),
            to: node(to),
            mems: node(to),
            memory: SetMemory::Open,
        };
        let first = Follow::begin(way(0, 1), &[], None, "step").unwrap();
        let second = Follow::begin(way(1, 2), &[], Some(first), "step").unwrap();
        assert_eq!(
            second.way.leaving(),
            [NumaId(0), NumaId(1)].into_iter().collect()
        );
        assert_eq!(second.way.coming(), node(2));
        // It may go back to where a part of it still is.
        let back = Follow::begin(way(2, 0), &[], Some(second), "step").unwrap();
        assert_eq!(
            back.way.leaving(),
            [NumaId(1), NumaId(2)].into_iter().collect()
        );
        let mut back = back;
        assert!(!back.go_on("step"), "there is nothing of it");
    }
}
