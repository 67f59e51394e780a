//! Cyclic and fcyclic: one cursor a socket; the next task starts on the next
//! socket. Cyclic keeps a task's CPUs together on its socket, fcyclic (full
//! cyclic) moves on after every single CPU.
//! Pure. Source: `_task_layout_lllp_cyclic`.

use crate::available::Available;
use crate::distribution::Order;
use crate::host::PuTable;
use crate::walk::{NoPlace, Walk};

/// Each task's slots, in local-id order.
///
/// ```text
/// 2 sockets × 2 cores × 1 thread, 4 tasks     socket 0: t0 t2   socket 1: t1 t3
/// ```
pub fn walk(walk: &Walk, table: &PuTable, available: &Available) -> Result<Vec<Vec<u32>>, NoPlace> {
    let mut cursors = Cursors::new(table);
    let mut tasks = Vec::with_capacity(walk.tasks as usize);
    let mut slots = Vec::new();
    while (tasks.len() as u32) < walk.tasks {
        let before = tasks.len();
        for _ in 0..table.len() {
            if (tasks.len() as u32) >= walk.tasks {
                break;
            }
            cursors.visit(walk, available, &mut slots, &mut tasks);
        }
        if tasks.len() == before {
            return Err(NoPlace::Stuck);
        }
    }
    Ok(tasks)
}

/// Where the walk stands.
struct Cursors<'a> {
    table: &'a PuTable,
    /// The socket whose turn it is.
    socket: usize,
    /// Next position within each socket.
    next: Vec<usize>,
    core_tasks: Vec<u32>,
    core_threads: Vec<u32>,
}

impl<'a> Cursors<'a> {
    fn new(table: &'a PuTable) -> Self {
        Self {
            table,
            socket: 0,
            next: vec![0; table.sockets.len()],
            core_tasks: vec![0; table.core_count as usize],
            core_threads: vec![0; table.core_count as usize],
        }
    }

    /// Looks at one slot: takes it for the task under way, or passes it by.
    fn visit(
        &mut self,
        walk: &Walk,
        available: &Available,
        slots: &mut Vec<u32>,
        tasks: &mut Vec<Vec<u32>>,
    ) {
        self.leave_full_sockets();
        let slot = self.table.sockets[self.socket][self.next[self.socket]];
        self.next[self.socket] += 1;
        let core = (slot / self.table.stride) as usize;
        let full = |used: u32, limit: Option<u32>| limit.is_some_and(|limit| used >= limit);
        if !available.has(slot)
            || full(self.core_tasks[core], walk.ntasks_per_core)
            || full(self.core_threads[core], walk.threads_per_core)
        {
            return;
        }
        slots.push(slot);
        let each_cpu = walk.order == Order::Fcyclic;
        if each_cpu {
            self.turn();
        }
        self.core_threads[core] += 1;
        if (slots.len() as u32) < walk.cpus_per_task {
            return;
        }
        self.core_tasks[core] += 1;
        // With fcyclic the turn has passed: as in task/affinity, the skip then
        // falls on the next socket.
        self.next[self.socket] += walk.skip_after_task(self.table.stride) as usize;
        if !each_cpu {
            self.turn();
        }
        tasks.push(std::mem::take(slots));
    }

    fn turn(&mut self) {
        self.socket = (self.socket + 1) % self.table.sockets.len();
    }

    /// Goes on to a socket that has slots left; where none has, all counters
    /// start over, which oversubscribes.
    fn leave_full_sockets(&mut self) {
        let start = self.socket;
        while self.next[self.socket] >= self.table.sockets[self.socket].len() {
            self.turn();
            if self.socket == start {
                self.core_tasks.fill(0);
                self.core_threads.fill(0);
                self.next.fill(0);
            }
        }
    }
}
