//! A cpuset that has other CPUs takes its tasks' memory along: with mandatory memory by the cgroup's
//! `cpuset.mems`, which the kernel follows at once; else process by process.
//! In: the task's cgroup, NUMA nodes before and after. Out: a text for the log.

use berth_host::cgroup::{Fence, Folder, Version};
use berth_host::migrate::{free_bytes, migrate};
use berth_placement::{CpuSet, NodeSet, SetMemory};

use crate::stepd::leaf::{Leaf, trace};

/// Where a cpuset's memory was, and where it is to be.
pub(super) struct Move<'a> {
    /// The NUMA nodes of its CPUs.
    pub from: &'a NodeSet,
    pub to: &'a NodeSet,
    /// The memory nodes that it has now, with those of `MEM_LIST`.
    pub mems: &'a NodeSet,
    pub memory: SetMemory,
}

/// What became of the memory.
#[derive(Debug, Default)]
pub(super) struct Moved {
    /// Pages that stayed.
    pub left: u64,
    /// The first reason why something stayed.
    pub why: Option<String>,
}

impl Move<'_> {
    /// Moves the memory of a task. One that has bound its memory itself keeps it where it is.
    pub(super) fn memory_of(&self, leaf: &Leaf, step: &str, moved: &mut Moved) {
        let (leaving, coming) = (self.from.difference(self.to), self.to.difference(self.from));
        let is_mandatory = matches!(self.memory, SetMemory::Only { .. });
        let stays = leaving.is_empty() && (coming.is_empty() || !is_mandatory);
        if stays || leaf.has_own_memory {
            return;
        }
        let Ok(folder) = leaf.place.open() else {
            return;
        };
        if is_mandatory {
            return self.mandatory(&folder, step, moved);
        }
        let coming = if coming.is_empty() { self.to } else { &coming };
        for pid in leaf.processes() {
            match migrate(pid, &leaving, coming) {
                Ok(left) => moved.left += left,
                Err(why) if why.raw_os_error() == Some(libc::ESRCH) => {}
                Err(why) => {
                    let text = format!("the memory of process {pid} stays where it is: {why}");
                    moved.why.get_or_insert(text);
                }
            }
        }
    }

    /// All pages of the cgroup follow its memory nodes. Where these have no room for them, the old ones stay
    /// allowed: better there than in the hands of the OOM killer.
    fn mandatory(&self, folder: &Folder, step: &str, moved: &mut Moved) {
        let used = folder.read("memory.current").ok();
        let used: u64 = used.and_then(|text| text.parse().ok()).unwrap_or(0);
        let free: Option<u64> = self.mems.iter().map(free_bytes).sum();
        let both: NodeSet = self.mems.iter().chain(self.from.iter()).collect();
        let has_room = free.is_none_or(|free| used <= free);
        let mems = if has_room { self.mems } else { &both };
        if !has_room {
            let text = format!(
                "its {used} bytes have no room in the memory of its CPUs, {} bytes are free there; it keeps \
                 the memory that it had, too",
                free.unwrap_or(0)
            );
            moved.why.get_or_insert(text);
        }
        let fence = Fence {
            cpus: &CpuSet::new(),
            mems: Some(mems),
        };
        if let Err(why) = fence.mems(folder, Version::V2, &mut trace(step)) {
            moved.why.get_or_insert(why.to_string());
        }
    }
}
