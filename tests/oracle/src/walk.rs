//! task/affinity's walks over the step's hardware threads, as far as to tell whether they come to
//! their end with tasks left and start over: only then is a limit exceeded.
//! Source: `_task_layout_lllp_block`, `_task_layout_lllp_cyclic`.

use crate::case::Case;

/// What a walk needs to know.
pub struct Walk<'a> {
    /// The request.
    pub case: &'a Case,
    /// The step's abstract CPUs.
    pub own: &'a [u32],
    /// CPUs of each task.
    pub each: u32,
    /// Hardware threads of a core that may be used.
    pub threads_per_core: u32,
    /// A task keeps the rest of its last core.
    pub whole_cores: bool,
    /// Sockets one after the other, and not in turn.
    pub block: bool,
    /// Full cyclic: the next socket after each CPU.
    pub one_by_one: bool,
}

/// How far a walk is.
struct State<'a> {
    walk: &'a Walk<'a>,
    core_tasks: Vec<u32>,
    core_threads: Vec<u32>,
    socket_tasks: Vec<u32>,
    /// CPUs of the task under way.
    taken: u32,
    tasks: u32,
}

impl Walk<'_> {
    /// Whether tasks are left at the end of the first round.
    #[must_use]
    pub fn starts_over(&self) -> bool {
        let machine = &self.case.machine;
        let size = machine.map.len().max(machine.pu_count() as usize);
        let mut state = State {
            walk: self,
            core_tasks: vec![0; size],
            core_threads: vec![0; size],
            socket_tasks: vec![0; size],
            taken: 0,
            tasks: 0,
        };
        if self.block {
            state.block(machine.map.len() as u32)
        } else {
            state.cyclic(machine.sockets.into(), machine.map.len() as u32)
        }
    }
}

impl State<'_> {
    fn is_done(&self) -> bool {
        self.tasks >= u32::from(self.walk.case.tasks())
    }

    fn block(&mut self, size: u32) -> bool {
        let mut at = 0;
        while at < size && !self.is_done() {
            if self.take(at, true) == Some(true) {
                at += self.skipped();
            }
            at += 1;
        }
        !self.is_done()
    }

    fn cyclic(&mut self, sockets: usize, size: u32) -> bool {
        let offset = self.per_socket();
        let mut next = vec![0; sockets];
        let mut socket = 0;
        while !self.is_done() {
            let turns = (0..sockets).map(|turn| (socket + turn) % sockets);
            let Some(found) = turns.into_iter().find(|at| next[*at] < offset) else {
                return true;
            };
            socket = found;
            let at = (next[socket] + socket as u32 * offset) % size;
            next[socket] += 1;
            let Some(complete) = self.take(at, false) else {
                continue;
            };
            if self.walk.one_by_one {
                socket = (socket + 1) % sockets;
            }
            if complete {
                next[socket] += self.skipped();
                if !self.walk.one_by_one {
                    socket = (socket + 1) % sockets;
                }
            }
        }
        false
    }

    fn per_socket(&self) -> u32 {
        let machine = &self.walk.case.machine;
        u32::from(machine.cores) * u32::from(machine.threads)
    }

    /// Takes an abstract CPU, where that is allowed; whether it completes a task.
    fn take(&mut self, at: u32, by_socket: bool) -> Option<bool> {
        let case = self.walk.case;
        let core = (at / u32::from(case.machine.threads)) as usize;
        let socket = (at / self.per_socket()) as usize;
        let full = |used: u32, limit: u16| limit != 0 && used >= limit.into();
        let forbidden = !self.walk.own.contains(&at)
            || full(self.core_tasks[core], case.ntasks_per_core)
            || (by_socket && full(self.socket_tasks[socket], case.ntasks_per_socket))
            || self.core_threads[core] >= self.walk.threads_per_core;
        if forbidden {
            return None;
        }
        self.core_threads[core] += 1;
        self.taken += 1;
        if self.taken < self.walk.each {
            return Some(false);
        }
        self.taken = 0;
        self.tasks += 1;
        self.core_tasks[core] += 1;
        self.socket_tasks[socket] += 1;
        Some(true)
    }

    /// What it takes for the rest of a core.
    fn skipped(&self) -> u32 {
        let (each, threads) = (self.walk.each, u32::from(self.walk.case.machine.threads));
        match self.walk.whole_cores {
            false => 0,
            true if each < threads => threads - each,
            true => each % threads,
        }
    }
}
