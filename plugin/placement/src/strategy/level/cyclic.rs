//! Cyclic and fcyclic: one cursor a socket; the next task starts on the next
//! socket. Cyclic keeps a task's CPUs together on its socket, fcyclic (full
//! cyclic) moves on after every single CPU.
//! Pure. Source: `_task_layout_lllp_cyclic`.

use crate::owned::Available;
use crate::request::distribution::Order;
use crate::strategy::level::walk::{Counters, NoPlace, Placed, Walk};
use crate::topology::host::PuTable;

/// Each task's slots, in local-id order.
///
/// ```text
/// 2 sockets × 2 cores × 1 thread, 4 tasks     socket 0: t0 t2   socket 1: t1 t3
/// ```
pub fn walk(walk: &Walk, table: &PuTable, available: &Available) -> Result<Placed, NoPlace> {
    let mut cursors = Cursors::new(table);
    let mut placed = Placed::room_for(walk);
    // Passing by what a fix keeps free can take most of a round before the
    // counters start over.
    let patience = if walk.passes_by() { 2 } else { 1 };
    while placed.count() < walk.tasks {
        let before = placed.count();
        for _ in 0..table.len() * patience {
            if placed.count() >= walk.tasks {
                break;
            }
            cursors.visit(walk, available, &mut placed);
        }
        if placed.count() == before {
            return Err(NoPlace::Stuck);
        }
    }
    Ok(placed)
}

/// Where the walk stands.
struct Cursors<'a> {
    table: &'a PuTable,
    /// The socket whose turn it is.
    socket: usize,
    /// Next position within each socket.
    next: Vec<u32>,
    counters: Counters,
}

impl<'a> Cursors<'a> {
    fn new(table: &'a PuTable) -> Self {
        Self {
            table,
            socket: 0,
            next: vec![0; table.sockets.len()],
            counters: Counters::new(table),
        }
    }

    /// Looks at one slot: takes it for the task under way, or passes it by.
    fn visit(&mut self, walk: &Walk, available: &Available, placed: &mut Placed) {
        self.leave_full_sockets();
        let slot = self.table.sockets[self.socket][self.next[self.socket] as usize];
        self.next[self.socket] += 1;
        if !available.has(slot) || self.counters.forbid(walk, self.table, slot) {
            return;
        }
        placed.add(slot);
        let each_cpu = walk.order == Order::Fcyclic;
        if each_cpu {
            self.turn();
        }
        self.counters.take(self.table, slot);
        if (placed.under_way().len() as u32) < walk.cpus_per_task {
            return;
        }
        self.counters.complete(walk, self.table, placed.under_way());
        // With fcyclic the turn has passed: as in task/affinity, the skip then
        // falls on the next socket.
        let next = &mut self.next[self.socket];
        *next = walk.after_task(*next, self.table.stride);
        if !each_cpu {
            self.turn();
        }
        placed.complete();
    }

    fn turn(&mut self) {
        self.socket = (self.socket + 1) % self.table.sockets.len();
    }

    /// Goes on to a socket that has slots left; where none has, all counters
    /// start over, which oversubscribes.
    fn leave_full_sockets(&mut self) {
        let start = self.socket;
        while self.next[self.socket] as usize >= self.table.sockets[self.socket].len() {
            self.turn();
            if self.socket == start {
                self.counters.clear();
                self.next.fill(0);
            }
        }
    }
}
