//! A cpuset that has other CPUs takes its tasks' memory along, while they run. One thread does it, move after move,
//! because the kernel answers only when the pages have gone. In: the tasks' cgroups, NUMA nodes before and after. Out:
//! a line of the log.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use berth_host::cgroup::members::processes;
use berth_host::cgroup::{Fence, Folder, Mounts, Place, Version};
use berth_host::ledger::Entry;
use berth_host::memory::{free_bytes, migrate};
use berth_placement::request::cpuset::Attribute;
use berth_placement::strategy::cpuset::memory_of_cpuset;
use berth_placement::{CpuSet, NodeSet};
use libc::pid_t;

use crate::choice::request;
use crate::node_state::NodeState;
use crate::task_cgroup::trace;

/// The thread that moves memory.
#[derive(Debug)]
pub(crate) struct Mover(Sender<Move>);

/// Where a step's memory was, and where it is to be.
#[derive(Debug)]
pub(crate) struct Move {
    /// For the log.
    job: u32,
    /// The tasks' cgroups, but for those of tasks that bind their memory themselves.
    places: Vec<Place>,
    /// The NUMA nodes of its CPUs before.
    from: NodeSet,
    /// Those of the CPUs that it has now.
    to: NodeSet,
    /// The memory nodes that its cgroups are to have, if memory is mandatory.
    fence: Option<NodeSet>,
}

/// The result of moving memory.
#[derive(Debug, Default)]
struct Moved {
    /// Pages that stayed.
    left: u64,
    /// The first reason why something stayed.
    why: Option<String>,
}

impl Mover {
    /// Starts it. It ends with the process.
    ///
    /// # Errors
    /// The kernel's answer.
    pub(crate) fn start() -> std::io::Result<Self> {
        let (sender, moves) = channel();
        let work = move || Self::work(&moves);
        thread::Builder::new().name("memory".into()).spawn(work)?;
        Ok(Self(sender))
    }

    fn work(moves: &Receiver<Move>) {
        for one in moves {
            let (job, Moved { left, why }) = (one.job, one.run());
            let why = why.map(|why| format!("; {why}")).unwrap_or_default();
            log::info!(
                "job={job}: memory of its cpuset followed its tasks; {left} pages stayed where they were{why}"
            );
        }
    }

    /// The memory of a step follows, if it has to.
    pub(crate) fn begin(&self, one: Move) {
        if one.stays() || self.0.send(one).is_ok() {
            return;
        }
        log::error!("the thread that moves memory has ended; memory stays where it is");
    }
}

impl Move {
    /// Of a step that goes from one entry's CPUs to another's.
    pub(crate) fn of(
        before: &Entry,
        after: &Entry,
        NodeState { node, cgroups, .. }: NodeState<'_>,
    ) -> Self {
        let requested = request(after);
        let is_mandatory = requested.attributes.has(Attribute::MemoryMandatory);
        let places = cgroups
            .leaves(after)
            .filter(|(_, leaf)| !leaf.has_own_memory);
        Self {
            job: after.step.job,
            places: places.map(|(place, _)| place).collect(),
            from: node.numa_nodes_of(&before.cpus),
            to: node.numa_nodes_of(&after.cpus),
            fence: is_mandatory.then(|| memory_of_cpuset(node, &after.cpus, &requested).0),
        }
    }

    fn stays(&self) -> bool {
        self.places.is_empty() || self.from == self.to
    }

    fn run(&self) -> Moved {
        let mut moved = Moved::default();
        let mounts = Mounts::read().unwrap_or_default();
        let places = self.places.iter();
        for (place, folder) in places.filter_map(|place| Some((place, place.open().ok()?))) {
            match &self.fence {
                Some(mems) => moved.refence(&folder, mems),
                None => {
                    // A number may pass to a process elsewhere.
                    let is_here =
                        |pid: &pid_t| Place::of(*pid, &mounts).is_ok_and(|now| place.holds(&now));
                    moved.follow(processes(&folder).into_iter().filter(is_here), self);
                }
            }
        }
        moved
    }

    /// The nodes that no task has any more.
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
}

impl Moved {
    /// Mandatory memory is a fence, and the kernel moves the pages when that changes. Where they have no room in the new
    /// nodes the old fence stays: better there than in the hands of the OOM killer.
    fn refence(&mut self, folder: &Folder, mems: &NodeSet) {
        let used = folder.read("memory.current").ok();
        let used: u64 = used.and_then(|text| text.parse().ok()).unwrap_or(0);
        let free: Option<u64> = mems.iter().map(free_bytes).sum();
        if let Some(free) = free.filter(|free| used > *free) {
            self.why.get_or_insert(format!(
                "its {used} bytes have no room in the memory of its CPUs, {free} bytes are free there; it keeps the \
                 memory that it had"
            ));
            return;
        }
        let fence = Fence {
            cpus: &CpuSet::new(),
            mems: Some(mems),
        };
        if let Err(why) = fence.mems(folder, Version::V2, &mut trace) {
            self.why.get_or_insert(why.to_string());
        }
    }

    fn follow(&mut self, processes: impl Iterator<Item = pid_t>, way: &Move) {
        let (from, to) = (way.leaving(), way.coming());
        if from.is_empty() {
            return;
        }
        for pid in processes {
            match migrate(pid, &from, &to) {
                Ok(left) => self.left += left,
                Err(why) if matches!(why.raw_os_error(), Some(libc::ESRCH | libc::ENOENT)) => {}
                Err(why) => {
                    let text = format!("the memory of process {pid} stays where it is: {why}");
                    self.why.get_or_insert(text);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use berth_placement::NumaId;

    use super::*;

    #[test]
    fn where_pages_go() {
        let nodes = |list: &[u32]| list.iter().map(|node| NumaId(*node)).collect::<NodeSet>();
        for (from, to, leaving, coming) in [
            (&[0][..], &[1][..], &[0][..], &[1][..]),
            (&[0], &[0], &[], &[0]),
            (&[0, 1], &[1], &[0], &[1]),
            (&[0], &[0, 1], &[], &[1]),
        ] {
            let way = Move {
                job: 1,
                places: Vec::new(),
                from: nodes(from),
                to: nodes(to),
                fence: None,
            };
            let found = (way.leaving(), way.coming());
            assert_eq!(found, (nodes(leaving), nodes(coming)), "{from:?} {to:?}");
        }
    }
}
