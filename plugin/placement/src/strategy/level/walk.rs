//! The common part of the walks over hardware threads: their limits, and the order in which they visit the
//! threads: Slurm's, or another within each socket if the third level of `-m` requests it. Pure data. Source:
//! `_task_layout_lllp_block`, `_task_layout_lllp_cyclic`.

use crate::request::cpu_bind::Level;
use crate::request::distribution::Order;
use crate::request::fixes::{Fix, Fixes};
use crate::sets::ids::PuIdx;
use crate::topology::pu_table::PuTable;

/// The part of a request that the walk needs.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    /// Tasks to place.
    pub tasks: u32,
    /// Hardware threads of each task.
    pub cpus_per_task: u32,
    /// The most hardware threads of a core to use.
    pub threads_per_core: Option<u32>,
    /// The most tasks on a core.
    pub ntasks_per_core: Option<u32>,
    /// The most tasks on a socket.
    pub ntasks_per_socket: Option<u32>,
    /// The kind of object that tasks are bound to.
    pub level: Level,
    /// Order over the sockets.
    pub order: Order,
    /// Whether cores with more hardware threads are shared before the others, because the cores of
    /// the step differ.
    pub shares_wide_cores_first: bool,
    /// The fixes that are on.
    pub fixes: Fixes,
}

impl Walk {
    /// Whether the rest of a core stays empty after a task, as long as the limit of tasks per core
    /// is not `exceeded`.
    pub(crate) fn gets_whole_cores(&self, exceeded: bool) -> bool {
        self.level == Level::Cores || (self.ntasks_per_core == Some(1) && !exceeded)
    }

    /// Whether full cyclic takes cores that no earlier task has.
    pub(crate) fn wants_fresh_cores(&self, exceeded: bool) -> bool {
        let mended = self.order == Order::Fcyclic && self.fixes.has(Fix::FcyclicCores);
        mended && self.gets_whole_cores(exceeded)
    }

    /// Whether a task counts on everything that it touches, not on its last core alone.
    pub(crate) fn counts_everywhere(&self) -> bool {
        self.fixes.has(Fix::CountTouched) || self.wants_fresh_cores(false)
    }

    /// Whether `--ntasks-per-socket` holds: task/affinity obeys it only in blocks.
    pub(crate) fn limits_sockets(&self) -> bool {
        let obeyed = self.order == Order::Block || self.fixes.has(Fix::SocketLimit);
        self.ntasks_per_socket.is_some() && obeyed
    }

    /// Whether anything keeps a task from a hardware thread that the step owns.
    pub(crate) fn is_limited(&self) -> bool {
        self.threads_per_core.is_some()
            || self.ntasks_per_core.is_some()
            || self.limits_sockets()
            || self.wants_fresh_cores(false)
            || self.shares_wide_cores_first
    }

    /// Whether limits on the number of tasks are exceeded evenly if they cannot hold.
    pub(crate) fn spreads(&self) -> bool {
        let limited = self.ntasks_per_core.is_some() || self.limits_sockets();
        limited && self.fixes.has(Fix::SpreadLimits)
    }

    /// Whether a fix makes cyclic walks skip hardware threads that task/affinity takes.
    pub(crate) fn passes_by(&self) -> bool {
        let limited = self.ntasks_per_socket.is_some() && self.fixes.has(Fix::SocketLimit);
        // For a single task nothing is kept free.
        self.tasks > 1 && (limited || self.wants_fresh_cores(false))
    }

    /// The place where the walk goes on after a task that ended just before `next`, so the next task
    /// starts on a fresh core; `core_end` gives the first place from `next` on where one begins.
    ///
    /// task/affinity skips a number of threads, which is right for one and two
    /// threads per core; with more, tasks of several cores can share one.
    pub(crate) fn after_task(
        &self,
        next: u32,
        exceeded: bool,
        table: &PuTable,
        core_end: impl FnOnce(u32) -> u32,
    ) -> u32 {
        if !self.gets_whole_cores(exceeded) || self.wants_fresh_cores(exceeded) {
            return next;
        }
        let mended = self.fixes.has(Fix::SmtNeighbours) && self.order != Order::Fcyclic;
        match table.even() {
            Some(threads) if !mended && self.cpus_per_task < threads => {
                next + threads - self.cpus_per_task
            }
            Some(threads) if !mended => next + self.cpus_per_task % threads,
            _ => core_end(next),
        }
    }
}

/// The hardware threads of each task in local-id order, one after the other, and of the task
/// under way.
#[derive(Clone, Debug)]
pub struct Placed {
    pus: Vec<PuIdx>,
    /// Hardware threads of each task.
    each: usize,
    /// Complete tasks.
    count: u32,
    /// Whether the walk started over, so tasks share hardware threads.
    pub(crate) shares: bool,
    /// Whether a limit on the number of tasks was raised on the way.
    pub(crate) exceeds: bool,
}

impl Placed {
    pub(crate) fn room_for(walk: &Walk) -> Self {
        Self {
            pus: Vec::with_capacity(walk.tasks as usize),
            each: walk.cpus_per_task.max(1) as usize,
            count: 0,
            shares: false,
            exceeds: false,
        }
    }

    /// Complete tasks.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Gives the task under way one more hardware thread.
    pub(crate) fn add(&mut self, pu: PuIdx) {
        self.pus.push(pu);
    }

    /// Hardware threads of the task under way.
    pub(crate) fn under_way(&self) -> &[PuIdx] {
        &self.pus[self.count as usize * self.each..]
    }

    /// Completes the task under way, which has all its hardware threads.
    pub(crate) fn complete(&mut self) {
        self.count += 1;
    }

    /// The hardware threads of the complete tasks, if each has one.
    pub(crate) fn one_each(&self) -> Option<&[PuIdx]> {
        (self.each == 1).then_some(&self.pus)
    }

    /// Each complete task's hardware threads.
    pub fn tasks(&self) -> impl ExactSizeIterator<Item = &[PuIdx]> {
        self.pus.chunks_exact(self.each)
    }
}

/// The hardware threads in the order of a walk.
pub(crate) enum VisitOrder<'a> {
    /// In the order of their numbers.
    Plain(&'a PuTable),
    /// In this order within each socket, and one socket after the other.
    Ordered(Vec<Vec<PuIdx>>, Vec<PuIdx>),
}

impl<'a> VisitOrder<'a> {
    /// Slurm's order.
    pub(crate) fn plain(table: &'a PuTable) -> Self {
        Self::Plain(table)
    }

    /// `chunk` hardware threads of a core, then as many of the next, then round again.
    pub(crate) fn by_threads(table: &PuTable, chunk: u32) -> Self {
        let chunk = chunk.max(1) as usize;
        let of_socket = |socket: u32| -> Vec<PuIdx> {
            let cores: Vec<_> = table.cores_of_socket(socket).collect();
            let widest = cores.iter().map(|core| core.len()).max().unwrap_or(0);
            let turn = |first: usize| {
                let part = move |core: &&[PuIdx]| {
                    let first = first.min(core.len());
                    core[first..(first + chunk).min(core.len())].to_vec()
                };
                cores.iter().flat_map(part).collect::<Vec<_>>()
            };
            (0..widest).step_by(chunk).flat_map(turn).collect()
        };
        let sockets: Vec<_> = (0..table.sockets.len() as u32).map(of_socket).collect();
        let whole = sockets.concat();
        Self::Ordered(sockets, whole)
    }

    /// The hardware threads of a socket.
    pub(crate) fn socket(&self, socket: usize) -> &[PuIdx] {
        match self {
            Self::Plain(table) => table.sockets.members(socket as u32),
            Self::Ordered(sockets, _) => &sockets[socket],
        }
    }

    /// The hardware thread at a place of the whole walk; `None` past its end.
    pub(crate) fn whole(&self, place: u32) -> Option<PuIdx> {
        match self {
            Self::Plain(table) => (place < table.len() as u32).then_some(PuIdx(place)),
            Self::Ordered(_, whole) => whole.get(place as usize).copied(),
        }
    }
}
