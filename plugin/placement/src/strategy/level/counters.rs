//! Counts of the threads that a walk has given out, and its limits: they decide which hardware threads it may take
//! next. In: the walk's limits, each thread taken, each task completed. Out: whether a thread is
//! forbidden. Pure.
//!
//! If tasks are left at the end of a round, task/affinity starts over on the same hardware
//! threads. If a limit on the number of tasks kept other threads free, berth raises that limit and
//! goes on with those (fix `spread-limits`): a limit that cannot hold is exceeded evenly.

use crate::request::cpu_bind::Level;
use crate::sets::ids::PuIdx;
use crate::strategy::level::walk::{Placed, Walk};
use crate::topology::pu_table::PuTable;

/// Tasks and threads counted while walking.
#[derive(Clone, Debug)]
pub(crate) struct Counters {
    cores: Vec<Count>,
    /// None where sockets have no limit.
    sockets: Vec<Count>,
    /// Tasks counted.
    tasks: u32,
    /// Whether any limit asks for the numbers.
    counts: bool,
    /// The state that only walks that spread need.
    spread: Option<Spread>,
}

/// The counts of a core or socket.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    tasks: u32,
    /// Threads taken; of cores only.
    threads: u32,
    /// The last task that was counted, so that each counts once.
    last: u32,
}

impl Count {
    /// Counts a task, by its number, if it does not count yet.
    fn task(&mut self, number: u32) {
        self.tasks += u32::from(self.last != number);
        self.last = number;
    }

    fn start_over(counts: &mut [Self]) {
        for count in counts {
            (count.tasks, count.threads) = (0, 0);
        }
    }

    fn free_threads(counts: &mut [Self]) {
        for count in counts {
            count.threads = 0;
        }
    }
}

/// How limits are exceeded evenly.
#[derive(Clone, Debug, Default)]
struct Spread {
    /// Hardware threads taken since all were free.
    taken: Vec<bool>,
    /// Cores of complete tasks since all were free, where each task has its own.
    touched: Vec<bool>,
    /// By how much each limit is raised, since the first task.
    raised: Limits,
    /// How many more tasks a socket or core could have without its limit.
    held_back: Limits,
    /// Cores of complete tasks may be shared, but not their hardware threads: the number of
    /// complete tasks when that round began.
    shares_cores: Option<u32>,
    /// Complete tasks when all hardware threads were free.
    before: u32,
    /// Complete tasks when the round began.
    round: u32,
}

/// A number for each of the two limits on tasks.
#[derive(Clone, Copy, Debug, Default)]
struct Limits {
    core: u32,
    socket: u32,
}

impl Counters {
    pub(crate) fn new(walk: &Walk, table: &PuTable) -> Self {
        let counts = walk.is_limited();
        let core_count = if counts { table.cores.len() } else { 0 };
        let socket_count = match walk.limits_sockets() {
            true => table.sockets.len(),
            false => 0,
        };
        let spread = || Spread {
            taken: vec![false; table.len()],
            touched: vec![false; table.cores.len()],
            ..Spread::default()
        };
        Self {
            spread: (walk.spreads() || walk.shares_wide_cores_first).then(spread),
            cores: vec![Count::default(); core_count],
            sockets: vec![Count::default(); socket_count],
            tasks: 0,
            counts,
        }
    }

    /// The walk is at its end, and tasks are left. The answer is `false` if nothing more can be
    /// placed.
    #[inline(never)]
    pub(crate) fn next_round(&mut self, walk: &Walk, placed: &mut Placed) -> bool {
        if let Some(spread) = &mut self.spread {
            let left = walk.tasks - placed.count();
            let held_back = std::mem::take(&mut spread.held_back);
            let has_placed = placed.count() > std::mem::replace(&mut spread.round, placed.count());
            if spread.raised.socket > 0 && spread.shares_cores.is_some() && has_placed {
                // A round takes a wide core once. Sockets with fewer tasks go on with theirs before a full one gets more.
                return true;
            }
            // Each full object gets this number more, if all have the room.
            let raise = |full: usize| (left / full.max(1) as u32).max(1);
            let full = |counts: &[Count], limit: Option<u32>, raised: u32| {
                let limit = limit.unwrap_or(u32::MAX).saturating_add(raised);
                counts.iter().filter(|count| count.tasks >= limit).count()
            };
            if held_back.socket > 0 && spread.raised.socket <= walk.tasks {
                let limit = walk.ntasks_per_socket;
                let full = full(&self.sockets, limit, spread.raised.socket);
                spread.raised.socket += raise(full);
                placed.exceeds = true;
                return true;
            }
            if held_back.core > 0 && spread.raised.core <= walk.tasks {
                let full = full(&self.cores, walk.ntasks_per_core, spread.raised.core);
                spread.raised.core += raise(full);
                placed.exceeds = true;
                return true;
            }
            placed.shares = true;
            let goes_on = spread
                .shares_cores
                .is_none_or(|count| count < placed.count());
            if walk.shares_wide_cores_first && goes_on {
                spread.shares_cores = Some(placed.count());
                return true;
            }
            if placed.count() == spread.before {
                return false;
            }
            spread.before = placed.count();
            spread.shares_cores = None;
            spread.taken.fill(false);
            spread.touched.fill(false);
            // The limits still count every task, so those that come now are spread too.
            Count::free_threads(&mut self.cores);
            return true;
        }
        placed.shares = true;
        Count::start_over(&mut self.cores);
        Count::start_over(&mut self.sockets);
        true
    }

    /// Whether limits are exceeded evenly.
    pub(crate) fn spreads(&self) -> bool {
        self.spread.is_some()
    }

    /// Whether cores have more tasks than requested.
    pub(crate) fn exceeds_core(&self) -> bool {
        self.spread
            .as_ref()
            .is_some_and(|spread| spread.raised.core > 0)
    }

    /// Whether a limit forbids this hardware thread for the task under way.
    pub(crate) fn forbid(&mut self, walk: &Walk, table: &PuTable, pu: PuIdx) -> bool {
        self.counts && self.is_forbidden(walk, table, pu)
    }

    #[inline(never)]
    fn is_forbidden(&mut self, walk: &Walk, table: &PuTable, pu: PuIdx) -> bool {
        let core = table.cores.of(pu) as usize;
        let socket = table.sockets.of(pu) as usize;
        let full = |used: u32, limit: Option<u32>| limit.is_some_and(|limit| used >= limit);
        // Where tasks with their own cores are spread, `touched` says which cores are used.
        let by_count = self.spread.is_none() || walk.level != Level::Cores;
        let is_used = by_count && self.cores[core].tasks > 0;
        if full(self.cores[core].threads, walk.threads_per_core)
            || (is_used && walk.wants_fresh_cores(self.exceeds_core()))
        {
            return true;
        }
        let Some(spread) = &mut self.spread else {
            return full(self.cores[core].tasks, walk.ntasks_per_core)
                || (walk.limits_sockets()
                    && full(self.sockets[socket].tasks, walk.ntasks_per_socket));
        };
        if spread.taken[pu.index()] || (spread.touched[core] && spread.shares_cores.is_none()) {
            return true;
        }
        let raised = |limit: Option<u32>, by: u32| limit.map(|limit| limit.saturating_add(by));
        if walk.limits_sockets() {
            let limit = raised(walk.ntasks_per_socket, spread.raised.socket);
            if full(self.sockets[socket].tasks, limit) {
                spread.held_back.socket += 1;
                return true;
            }
        }
        let limit = raised(walk.ntasks_per_core, spread.raised.core);
        let is_full = full(self.cores[core].tasks, limit);
        spread.held_back.core += u32::from(is_full);
        is_full
    }

    /// Counts a hardware thread that was taken.
    pub(crate) fn take(&mut self, table: &PuTable, pu: PuIdx) {
        if self.counts {
            self.count_thread(table, pu);
        }
    }

    #[inline(never)]
    fn count_thread(&mut self, table: &PuTable, pu: PuIdx) {
        self.cores[table.cores.of(pu) as usize].threads += 1;
        if let Some(spread) = &mut self.spread {
            spread.taken[pu.index()] = true;
        }
    }

    /// Counts a complete task. task/affinity counts it where it ended.
    pub(crate) fn complete(&mut self, walk: &Walk, table: &PuTable, pus: &[PuIdx]) {
        if self.counts {
            self.count_task(walk, table, pus);
        }
    }

    #[inline(never)]
    fn count_task(&mut self, walk: &Walk, table: &PuTable, pus: &[PuIdx]) {
        let counted = match walk.counts_everywhere() {
            true => pus,
            false => pus.last_chunk::<1>().map_or(pus, |last| last),
        };
        self.tasks += 1;
        for pu in counted {
            self.cores[table.cores.of(*pu) as usize].task(self.tasks);
            if let Some(socket) = self.sockets.get_mut(table.sockets.of(*pu) as usize) {
                socket.task(self.tasks);
            }
        }
        let Some(spread) = &mut self.spread else {
            return;
        };
        if walk.gets_whole_cores(true) {
            // Each task has its own, whatever the limits.
            pus.iter()
                .for_each(|pu| spread.touched[table.cores.of(*pu) as usize] = true);
        } else if walk.gets_whole_cores(false) && spread.raised.core == 0 {
            // The walk skips the rest of its core, which is free for the next round.
            spread.held_back.core += 1;
        }
    }
}
