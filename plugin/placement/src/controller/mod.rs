//! Decisions that slurmctld makes before a node is involved. This file: which tasks of a step run on which node (the
//! first level of `-m`), and how many there are where `-c` is given and `-n` is not; [`select`]: the cores. In: how
//! many tasks each node has room for, and how many there are. Out: the tasks of each node, and the nodes in task
//! order. Pure; nothing is stored for each task, so a million tasks cost no memory. Source: `_init_task_layout`,
//! `_task_layout_block`, `_task_layout_cyclic`, `_task_layout_plane` and `_task_layout_hostfile` of slurmctld.

pub mod select;

use crate::request::distribution::{AcrossHosts, Distribution};

/// Tasks laid out over the nodes of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Across {
    counts: Vec<u32>,
    turns: Turns,
}

/// How the tasks are numbered.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Turns {
    /// This number of successive tasks goes to a node before the next node's turn.
    Of(u32),
    /// The node of each task.
    Listed(Vec<u32>),
}

/// Where a task runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskPlace {
    /// Position of the node in the step.
    pub node: u32,
    /// The task's number on the node.
    pub local: u32,
}

impl Across {
    /// Lays `tasks` out over nodes; `room` holds how many tasks each node has CPUs for. Tasks
    /// beyond the room are spread over all nodes.
    #[must_use]
    pub fn new(room: &[u32], tasks: u32, distribution: &Distribution) -> Self {
        let plane = distribution.plane_size.unwrap_or(1).max(1);
        let (counts, turn) = match distribution.hosts {
            AcrossHosts::Cyclic => (in_turns(&widened(room, tasks), tasks), 1),
            AcrossHosts::Plane => (in_planes(room, tasks, plane), plane),
            _ if distribution.pack == Some(true) => (packed(room, tasks), u32::MAX),
            _ => (in_turns(room, tasks), u32::MAX),
        };
        Self {
            counts,
            turns: Turns::Of(turn),
        }
    }

    /// `-m arbitrary`: the node of each task as a list of hosts has them.
    #[must_use]
    pub fn listed(nodes: Vec<u32>) -> Self {
        let mut counts = Vec::new();
        for &node in &nodes {
            let at = node as usize;
            if counts.len() <= at {
                counts.resize(at + 1, 0);
            }
            counts[at] += 1;
        }
        Self {
            counts,
            turns: Turns::Listed(nodes),
        }
    }

    /// Tasks of each node.
    #[must_use]
    pub fn counts(&self) -> &[u32] {
        &self.counts
    }

    /// Where each task runs, in the order of their numbers.
    pub fn places(&self) -> Box<dyn Iterator<Item = TaskPlace> + '_> {
        match &self.turns {
            Turns::Of(size) => Box::new(self.turn_by_turn(*size)),
            Turns::Listed(nodes) => {
                let mut next = vec![0; self.counts.len()];
                Box::new(nodes.iter().map(move |&node| {
                    let local = next[node as usize];
                    next[node as usize] += 1;
                    TaskPlace { node, local }
                }))
            }
        }
    }

    fn turn_by_turn(&self, size: u32) -> impl Iterator<Item = TaskPlace> + '_ {
        let most = self.counts.iter().copied().max().unwrap_or(0);
        (0..most.div_ceil(size)).flat_map(move |turn| {
            let first = turn * size;
            (0..).zip(&self.counts).flat_map(move |(node, &count)| {
                let end = first.saturating_add(size).min(count);
                (first.min(end)..end).map(move |local| TaskPlace { node, local })
            })
        })
    }
}

/// The room of nodes that take turns from the first task on; the excess is spread evenly.
fn widened(room: &[u32], tasks: u32) -> Vec<u32> {
    let all: u64 = room.iter().copied().map(u64::from).sum();
    let over = u64::from(tasks).saturating_sub(all);
    let each = over.div_ceil(room.len().max(1) as u64) as u32;
    room.iter().map(|room| room + each).collect()
}

/// In each turn every node that has room gets one task; when none has room, every node gets one.
fn in_turns(room: &[u32], tasks: u32) -> Vec<u32> {
    let mut counts = vec![0; room.len()];
    let (mut left, mut turn, mut full) = (tasks, 0, false);
    while left > 0 && !room.is_empty() {
        let mut space = false;
        for (count, &room) in counts.iter_mut().zip(room) {
            if left > 0 && (turn < room || full) {
                *count += 1;
                left -= 1;
                space |= turn + 1 < room;
            }
        }
        full |= !space;
        turn += 1;
    }
    counts
}

/// `,Pack`: every node gets one task, then nodes are filled one by one; the excess is spread evenly.
fn packed(room: &[u32], tasks: u32) -> Vec<u32> {
    let mut counts = vec![0; room.len()];
    let mut left = tasks;
    for (count, &room) in counts.iter_mut().zip(room) {
        *count = left.min(room.min(1));
        left -= *count;
    }
    for (count, &room) in counts.iter_mut().zip(room) {
        let more = left.min(room - *count);
        *count += more;
        left -= more;
    }
    let all = counts.len() as u32;
    for (at, count) in (0..).zip(&mut counts) {
        *count += left / all + u32::from(at < left % all);
    }
    counts
}

/// `plane=SIZE`: every node gets one task, then planes while it has room; when all are full, planes again.
fn in_planes(room: &[u32], tasks: u32, size: u32) -> Vec<u32> {
    let mut counts = vec![0; room.len()];
    let (mut left, mut first, mut full) = (tasks, true, false);
    for count in &mut counts {
        *count = left.min(1);
        left -= *count;
    }
    while left > 0 && !room.is_empty() {
        let mut space = false;
        for (count, &room) in counts.iter_mut().zip(room) {
            for _ in u32::from(first)..size {
                // A node that has more than its room counts as one with room left there.
                if left > 0 && (*count != room || full) {
                    *count += 1;
                    left -= 1;
                    space |= *count < room;
                }
            }
        }
        full |= !space;
        first = false;
    }
    counts
}

/// slurmctld's count of a job's CPUs on one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobCpus {
    /// CPUs of the job's cores.
    pub cpus: u32,
    /// CPUs of one core.
    pub of_core: u32,
}

impl JobCpus {
    /// The tasks of `each` CPUs for which they suffice, where `threads` of a core may be used.
    #[must_use]
    pub fn tasks(self, each: u32, threads: Option<u32>) -> u32 {
        let cores = self.cpus.div_ceil(self.of_core.max(1));
        let usable = threads.map_or(self.cpus, |threads| cores.saturating_mul(threads));
        usable / each.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_hosts() {
        let across = Across::listed(vec![1, 0, 1, 2]);
        assert_eq!(across.counts(), [1, 2, 1]);
        let places: Vec<_> = across
            .places()
            .map(|place| (place.node, place.local))
            .collect();
        assert_eq!(places, [(1, 0), (0, 0), (1, 1), (2, 0)]);
    }

    #[test]
    fn whole_tasks_count() {
        let node = JobCpus {
            cpus: 8,
            of_core: 2,
        };
        for (each, threads, tasks) in [
            (2, None, 4),
            (3, None, 2),
            (9, None, 0),
            (2, Some(1), 2),
            (2, Some(2), 4),
        ] {
            assert_eq!(node.tasks(each, threads), tasks, "-c{each}, {threads:?}");
        }
    }
}
