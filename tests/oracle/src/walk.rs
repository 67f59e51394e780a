//! task/affinity's walks over the step's hardware threads, as far as to tell whether tasks have to
//! share: the walk comes to its end with tasks left and starts over, or takes something twice.
//! Source: `_task_layout_lllp_block`, `_task_layout_lllp_cyclic`.

use crate::case::Case;

/// A request as a walk sees it.
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
    /// Tasks are bound to cores.
    pub to_cores: bool,
    /// Sockets one after the other, and not in turn.
    pub block: bool,
    /// Full cyclic: the next socket after each CPU.
    pub one_by_one: bool,
    /// Abstract CPUs of a socket or memory domain, if tasks are bound to those, or of a core that only one task should have.
    pub per_object: Option<u32>,
}

/// How a walk ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Tasks share a hardware thread, or a core that should be one task's alone.
    pub shares: bool,
    /// They do although the step has others that nobody uses.
    pub beside_idle: bool,
    /// A task has a kernel's number twice, and so fewer CPUs.
    pub short: bool,
    /// Two tasks have one such object, and nobody uses another one of the step.
    pub piled: bool,
}

/// How far a walk is.
struct State<'a> {
    walk: &'a Walk<'a>,
    core_tasks: Vec<u32>,
    core_threads: Vec<u32>,
    socket_tasks: Vec<u32>,
    /// Tasks of each socket or memory domain since the walk began.
    object_tasks: Vec<u32>,
    /// Abstract CPUs taken so far, and cores of complete tasks where each has its own.
    used: Vec<bool>,
    touched: Vec<bool>,
    /// Abstract CPUs of the task under way.
    under_way: Vec<u32>,
    tasks: u32,
    /// The socket whose turn it is.
    socket: usize,
    outcome: Outcome,
}

impl Walk<'_> {
    /// How it ends.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        let machine = &self.case.machine;
        let size = machine.map.len().max(machine.pu_count() as usize);
        let mut state = State {
            walk: self,
            core_tasks: vec![0; size],
            core_threads: vec![0; size],
            socket_tasks: vec![0; size],
            object_tasks: vec![0; size],
            used: vec![false; size],
            touched: vec![false; size],
            under_way: Vec::new(),
            tasks: 0,
            socket: 0,
            outcome: Outcome::default(),
        };
        let mut next = vec![0; machine.sockets.into()];
        while !state.is_done() {
            let before = state.tasks;
            let size = machine.map.len() as u32;
            match self.block {
                true => state.block(size),
                false => (0..size).for_each(|_| state.cyclic(&mut next, size)),
            }
            if state.tasks == before {
                // task/affinity gives up.
                state.outcome.shares = true;
                break;
            }
        }
        state.look_for_idle();
        state.look_for_piled();
        state.outcome
    }

    fn threads(&self) -> u32 {
        self.case.machine.threads.into()
    }

    fn per_socket(&self) -> u32 {
        u32::from(self.case.machine.cores) * self.threads()
    }

    /// Abstract CPUs that it leaves out for the rest of a core.
    fn skipped(&self) -> u32 {
        match self.whole_cores {
            false => 0,
            true if self.each < self.threads() => self.threads() - self.each,
            true => self.each % self.threads(),
        }
    }
}

impl State<'_> {
    fn is_done(&self) -> bool {
        self.tasks >= u32::from(self.walk.case.tasks())
    }

    fn start_over(&mut self) {
        self.outcome.shares = true;
        self.core_tasks.fill(0);
        self.core_threads.fill(0);
        self.socket_tasks.fill(0);
    }

    fn look_for_idle(&mut self) {
        let threads = if self.walk.to_cores {
            self.walk.threads()
        } else {
            1
        };
        let unit = |at: &u32| (at / threads) as usize;
        let mut busy = vec![false; self.used.len()];
        let used = (0..).zip(&self.used).filter(|(_, used)| **used);
        used.for_each(|(at, _)| busy[unit(&at)] = true);
        let idle = self.walk.own.iter().any(|at| !busy[unit(at)]);
        self.outcome.beside_idle = self.outcome.shares && idle;
    }

    fn look_for_piled(&mut self) {
        let Some(each) = self.walk.per_object.filter(|_| self.is_done()) else {
            return;
        };
        let is_idle = |at: &u32| self.object_tasks[(at / each) as usize] == 0;
        let shared = self.object_tasks.iter().any(|tasks| *tasks > 1);
        self.outcome.piled = shared && self.walk.own.iter().any(is_idle);
    }

    /// Looks at everything in order.
    fn block(&mut self, size: u32) {
        if self.tasks > 0 {
            self.start_over();
        }
        let mut at = 0;
        while at < size && !self.is_done() {
            if self.take(at, true) == Some(true) {
                at += self.walk.skipped();
            }
            at += 1;
        }
    }

    /// Looks at the next abstract CPU of the socket whose turn it is.
    fn cyclic(&mut self, next: &mut [u32], size: u32) {
        if self.is_done() {
            return;
        }
        let (sockets, offset) = (next.len(), self.walk.per_socket());
        let mut turns = (0..sockets).map(|turn| (self.socket + turn) % sockets);
        let found = turns.find(|at| next[*at] < offset);
        let socket = found.unwrap_or_else(|| {
            self.start_over();
            next.fill(0);
            self.socket
        });
        self.socket = socket;
        let at = (next[socket] + socket as u32 * offset) % size;
        next[socket] += 1;
        let Some(complete) = self.take(at, false) else {
            return;
        };
        if self.walk.one_by_one {
            self.socket = (socket + 1) % sockets;
        }
        if complete {
            next[self.socket] += self.walk.skipped();
        }
        if complete && !self.walk.one_by_one {
            self.socket = (socket + 1) % sockets;
        }
    }

    /// Takes an abstract CPU, where that is allowed; whether it completes a task.
    fn take(&mut self, at: u32, by_socket: bool) -> Option<bool> {
        let case = self.walk.case;
        let core = (at / self.walk.threads()) as usize;
        let socket = (at / self.walk.per_socket()) as usize;
        let full = |used: u32, limit: u16| limit != 0 && used >= limit.into();
        let forbidden = !self.walk.own.contains(&at)
            || full(self.core_tasks[core], case.ntasks_per_core)
            || (by_socket && full(self.socket_tasks[socket], case.ntasks_per_socket))
            || self.core_threads[core] >= self.walk.threads_per_core;
        if forbidden {
            return None;
        }
        self.core_threads[core] += 1;
        let again = std::mem::replace(&mut self.used[at as usize], true);
        self.outcome.shares |= again || self.touched[core];
        self.under_way.push(at);
        if (self.under_way.len() as u32) < self.walk.each {
            return Some(false);
        }
        self.complete();
        self.core_tasks[core] += 1;
        self.socket_tasks[socket] += 1;
        Some(true)
    }

    fn complete(&mut self) {
        if let Some(each) = self.walk.per_object {
            let mut objects: Vec<_> = self.under_way.iter().map(|at| at / each).collect();
            objects.sort_unstable();
            objects.dedup();
            let tasks = &mut self.object_tasks;
            objects.iter().for_each(|at| tasks[*at as usize] += 1);
        }
        let mut numbers = Vec::new();
        for at in self.under_way.drain(..) {
            numbers.push(self.walk.case.machine.map[at as usize]);
            let core = at / self.walk.threads();
            self.touched[core as usize] |= self.walk.whole_cores;
        }
        numbers.sort_unstable();
        self.outcome.short |= numbers.windows(2).any(|pair| pair[0] == pair[1]);
        self.tasks += 1;
    }
}
