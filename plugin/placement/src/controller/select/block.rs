//! The cores of one node in blocks (`_block_sync_core_bitmap`): the smallest socket that holds all of the need,
//! or else the largest.
//! In: the free cores of a node, and the CPUs to find. Out: the job's cores. Pure.

use crate::controller::select::cluster::{ClusterNode, Unit};
use crate::controller::select::core_set::CoreSet;
use crate::controller::select::details::Details;
use crate::controller::select::offer::socket;

/// The node's cores for the job, or `None` if there are too few.
pub(super) fn cores(
    unit: Unit,
    job: &Details,
    node: &ClusterNode,
    free: &CoreSet,
    cpus: u32,
) -> Option<CoreSet> {
    let of_core = job.cpus_per_core(node.cpus_per_core());
    let need = match job.cores_of_task(of_core) {
        Some(each) => cpus / job.each * each,
        None => cpus.div_ceil(of_core),
    };
    if free.count() < need {
        return None;
    }
    let mut left: Vec<u32> = (0..node.sockets)
        .map(|at| free.count_in(socket(node, at)))
        .collect();
    let mut count = Count {
        of_core,
        each: job.each,
        by_task: job.cores_of_task(of_core).is_some(),
        left_of_task: job.each,
        cpus,
    };
    let mut cores = CoreSet::new();
    while count.cpus > 0 {
        let at = best_socket(&left, need)?;
        for core in socket(node, at as u32) {
            let is_free = free.contains(core);
            // A socket that is handed out whole takes special cores along.
            if unit == Unit::Socket || (count.cpus > 0 && is_free) {
                cores.insert(core);
            }
            if count.cpus > 0 && is_free {
                left[at] -= 1;
                count.take();
            }
        }
    }
    Some(cores)
}

/// The socket with the fewest free cores that still holds all of the need, or else the one with the most.
fn best_socket(left: &[u32], need: u32) -> Option<usize> {
    let (mut best, mut cores, mut holds_all) = (None, 0, false);
    for (at, &free) in left.iter().enumerate() {
        let holds = free >= need;
        let is_better = match holds {
            true => !holds_all || free < cores,
            false => free > cores,
        };
        if cores == 0 || is_better {
            (best, cores, holds_all) = (Some(at), free, holds);
        }
    }
    best.filter(|_| cores > 0)
}

/// CPUs still to find.
struct Count {
    of_core: u32,
    each: u32,
    by_task: bool,
    left_of_task: u32,
    cpus: u32,
}

impl Count {
    fn take(&mut self) {
        if self.cpus < self.of_core {
            self.cpus = 0;
        } else if self.by_task {
            let used = self.left_of_task.min(self.of_core);
            self.cpus -= used;
            self.left_of_task = match self.left_of_task <= used {
                true => self.each,
                false => self.left_of_task - used,
            };
        } else {
            self.cpus -= self.of_core;
        }
    }
}
