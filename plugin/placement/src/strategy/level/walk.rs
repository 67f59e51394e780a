//! What the walks over hardware threads share: their orders, and why they can fail.
//! Pure data. Source: `_task_layout_lllp_block`, `_task_layout_lllp_cyclic`.

use crate::request::cpu_bind::Level;
use crate::request::distribution::Order;
use crate::request::fixes::{Fix, Fixes};
use crate::topology::host::PuTable;

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
    /// At most so many tasks of a socket.
    pub ntasks_per_socket: Option<u32>,
    /// What tasks are bound to.
    pub level: Level,
    /// Order over the sockets.
    pub order: Order,
    /// The fixes that are on.
    pub fixes: Fixes,
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
    /// Whether the rest of a core stays empty behind a task.
    pub(crate) fn gets_whole_cores(&self) -> bool {
        self.level == Level::Cores || self.ntasks_per_core == Some(1)
    }

    /// Full cyclic takes cores that no earlier task has.
    pub(crate) fn wants_fresh_cores(&self) -> bool {
        self.gets_whole_cores() && self.order == Order::Fcyclic && self.fixes.has(Fix::FcyclicCores)
    }

    /// Whether a fix makes cyclic walks pass by slots that task/affinity takes.
    pub(crate) fn passes_by(&self) -> bool {
        let limited = self.ntasks_per_socket.is_some() && self.fixes.has(Fix::SocketLimit);
        // For a single task nothing is kept free.
        self.tasks > 1 && (limited || self.wants_fresh_cores())
    }

    /// Where the walk goes on after a task that ended just before `next`, so that
    /// the next task starts on a fresh core.
    ///
    /// task/affinity skips a number of threads, which is right for one and two
    /// threads a core; with more, tasks of several cores can share one.
    pub(crate) fn after_task(&self, next: u32, stride: u32) -> u32 {
        if !self.gets_whole_cores() || self.wants_fresh_cores() {
            next
        } else if self.fixes.has(Fix::SmtNeighbours) && self.order != Order::Fcyclic {
            next.next_multiple_of(stride)
        } else if self.cpus_per_task < stride {
            next + stride - self.cpus_per_task
        } else {
            next + self.cpus_per_task % stride
        }
    }
}

/// The slots of each task in local-id order, one after the other, and of the task under way.
#[derive(Clone, Debug, Default)]
pub struct Placed {
    slots: Vec<u32>,
    /// Where each complete task's slots end.
    ends: Vec<usize>,
}

impl Placed {
    pub(crate) fn room_for(walk: &Walk) -> Self {
        Self {
            slots: Vec::with_capacity(walk.tasks as usize),
            ends: Vec::with_capacity(walk.tasks as usize),
        }
    }

    /// Complete tasks.
    pub(crate) fn count(&self) -> u32 {
        self.ends.len() as u32
    }

    /// Gives the task under way one more slot.
    pub(crate) fn add(&mut self, slot: u32) {
        self.slots.push(slot);
    }

    /// Slots of the task under way.
    pub(crate) fn under_way(&self) -> &[u32] {
        &self.slots[self.ends.last().copied().unwrap_or(0)..]
    }

    /// The task under way has all its slots.
    pub(crate) fn complete(&mut self) {
        self.ends.push(self.slots.len());
    }

    /// Each complete task's slots.
    pub fn tasks(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        let mut from = 0;
        self.ends.iter().map(move |end| {
            let task = &self.slots[from..*end];
            from = *end;
            task
        })
    }
}

/// Tasks and threads counted while walking, against the limits.
#[derive(Clone, Debug)]
pub(crate) struct Counters {
    core_tasks: Vec<u32>,
    core_threads: Vec<u32>,
    socket_tasks: Vec<u32>,
    /// The last task that was counted in each core and socket, so that each is once.
    core_last: Vec<u32>,
    socket_last: Vec<u32>,
    /// Tasks counted.
    tasks: u32,
}

impl Counters {
    pub(crate) fn new(table: &PuTable) -> Self {
        let cores = vec![0; table.core_count as usize];
        let sockets = vec![0; table.sockets.len()];
        Self {
            core_threads: cores.clone(),
            core_last: cores.clone(),
            core_tasks: cores,
            socket_last: sockets.clone(),
            socket_tasks: sockets,
            tasks: 0,
        }
    }

    /// Starts over: from here on the walk oversubscribes.
    pub(crate) fn clear(&mut self) {
        self.core_tasks.fill(0);
        self.core_threads.fill(0);
        self.socket_tasks.fill(0);
    }

    /// Whether a limit forbids this slot for the task under way.
    pub(crate) fn forbid(&self, walk: &Walk, table: &PuTable, slot: u32) -> bool {
        let full = |used: u32, limit: Option<u32>| limit.is_some_and(|limit| used >= limit);
        let core = (slot / table.stride) as usize;
        let socket = table.slots[slot as usize].socket as usize;
        let by_socket = walk.order == Order::Block || walk.fixes.has(Fix::SocketLimit);
        full(self.core_tasks[core], walk.ntasks_per_core)
            || full(self.core_threads[core], walk.threads_per_core)
            || (by_socket && full(self.socket_tasks[socket], walk.ntasks_per_socket))
            || (walk.wants_fresh_cores() && self.core_tasks[core] > 0)
    }

    /// A slot was taken.
    pub(crate) fn take(&mut self, table: &PuTable, slot: u32) {
        self.core_threads[(slot / table.stride) as usize] += 1;
    }

    /// A task is complete. task/affinity counts it where it ended.
    pub(crate) fn complete(&mut self, walk: &Walk, table: &PuTable, slots: &[u32]) {
        let everywhere = walk.fixes.has(Fix::CountTouched) || walk.wants_fresh_cores();
        let counted = if everywhere {
            slots
        } else {
            slots.last_chunk::<1>().map_or(slots, |last| last)
        };
        self.tasks += 1;
        for slot in counted {
            let core = (slot / table.stride) as usize;
            if std::mem::replace(&mut self.core_last[core], self.tasks) != self.tasks {
                self.core_tasks[core] += 1;
            }
            let socket = table.slots[*slot as usize].socket as usize;
            if std::mem::replace(&mut self.socket_last[socket], self.tasks) != self.tasks {
                self.socket_tasks[socket] += 1;
            }
        }
    }
}
