//! What the walks over hardware threads share: their orders, and why they can fail.
//! Pure data. Source: `_task_layout_lllp_block`, `_task_layout_lllp_cyclic`.

use crate::cpu_bind::Level;
use crate::distribution::Order;

/// What the walk needs to know of a request.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    /// Tasks to place.
    pub tasks: u32,
    /// Hardware threads of each task.
    pub cpus_per_task: u32,
    /// At most so many hardware threads of a core.
    pub threads_per_core: Option<u32>,
    /// At most so many tasks of a core.
    pub ntasks_per_core: Option<u32>,
    /// At most so many tasks of a socket (block only).
    pub ntasks_per_socket: Option<u32>,
    /// What tasks are bound to.
    pub level: Level,
    /// Order over the sockets.
    pub order: Order,
}

/// Why tasks could not be placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPlace {
    /// One task's CPUs do not fit when only so many threads of a core count.
    ThreadsPerCore {
        /// Hardware threads needed.
        needed: u32,
    },
    /// More tasks than CPUs.
    TooManyTasks,
    /// No task could be completed in a whole round.
    Stuck,
}

impl Walk {
    /// Slots to skip after a task, so that the next one starts on a fresh core.
    ///
    /// Right for one and two threads a core; with more, tasks of several cores
    /// can share one, as in task/affinity.
    pub(crate) fn skip_after_task(&self, stride: u32) -> u32 {
        if self.level != Level::Cores && self.ntasks_per_core != Some(1) {
            0
        } else if self.cpus_per_task < stride {
            stride - self.cpus_per_task
        } else {
            self.cpus_per_task % stride
        }
    }
}
