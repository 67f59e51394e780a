//! Cyclic and fcyclic: each socket has a cursor, and the next task starts on the next
//! socket. Cyclic keeps a task's CPUs together on its socket; fcyclic (full
//! cyclic) moves on after every single CPU. With the fix `fcyclic-cores` full cyclic passes over
//! cores that an earlier task has ([`Walk::wants_fresh_cores`]).
//! Pure. Source: `_task_layout_lllp_cyclic`.

use crate::answer::refusal::NoPlace;
use crate::owned::Owned;
use crate::request::distribution::Order;
use crate::sets::ids::PuIdx;
use crate::strategy::level::counters::Counters;
use crate::strategy::level::course::Course;
use crate::strategy::level::walk::{Placed, Walk};
use crate::topology::pu_table::PuTable;

/// Each task's hardware threads, in local-id order.
///
/// ```text
/// 2 sockets × 2 cores × 1 thread
/// 4 tasks, cyclic or fcyclic      socket 0: t0 t2   socket 1: t1 t3
/// 2 tasks, -c2, cyclic            socket 0: t0 t0   socket 1: t1 t1
/// 2 tasks, -c2, fcyclic           socket 0: t0 t1   socket 1: t0 t1
/// ```
#[inline(never)]
pub(crate) fn walk(
    walk: &Walk,
    table: &PuTable,
    course: &Course<'_>,
    owned: &Owned,
) -> Result<Placed, NoPlace> {
    if table.sockets.iter().all(<[_]>::is_empty) {
        return Err(NoPlace::Stuck);
    }
    let mut cursors = Cursors::new(walk, table, course);
    let mut placed = Placed::room_for(walk);
    // The walk skips threads that a fix keeps free. This can take most of a round before
    // the counters start over.
    let patience = if walk.passes_by() { 2 } else { 1 };
    while placed.count() < walk.tasks {
        let before = placed.count();
        for _ in 0..table.len() * patience {
            if placed.count() >= walk.tasks {
                break;
            }
            cursors.visit(walk, owned, &mut placed)?;
        }
        if placed.count() == before && !cursors.counters.spreads() {
            return Err(NoPlace::Stuck);
        }
    }
    Ok(placed)
}

/// The position of the walk.
struct Cursors<'a> {
    table: &'a PuTable,
    sockets: Vec<Cursor<'a>>,
    /// The socket whose turn it is.
    socket: usize,
    counters: Counters,
}

/// The position of the walk within a socket.
struct Cursor<'a> {
    /// The socket's hardware threads.
    pus: &'a [PuIdx],
    /// The position of the next one.
    next: u32,
}

impl<'a> Cursors<'a> {
    fn new(walk: &Walk, table: &'a PuTable, course: &'a Course<'a>) -> Self {
        Self {
            table,
            sockets: (0..table.sockets.len())
                .map(|socket| Cursor {
                    pus: course.socket(socket),
                    next: 0,
                })
                .collect(),
            socket: 0,
            counters: Counters::new(walk, table),
        }
    }

    /// Looks at one hardware thread, and takes it for the task under way or skips it.
    fn visit(&mut self, walk: &Walk, owned: &Owned, placed: &mut Placed) -> Result<(), NoPlace> {
        if !self.has_some() {
            self.leave_full_socket(walk, placed)?;
        }
        let cursor = &mut self.sockets[self.socket];
        let pu = cursor.pus[cursor.next as usize];
        cursor.next += 1;
        if !owned.has(pu) || self.counters.forbid(walk, self.table, pu) {
            return Ok(());
        }
        placed.add(pu);
        let each_cpu = walk.order == Order::Fcyclic;
        if each_cpu {
            self.turn();
        }
        self.counters.take(self.table, pu);
        if (placed.under_way().len() as u32) < walk.cpus_per_task {
            return Ok(());
        }
        self.counters.complete(walk, self.table, placed.under_way());
        // With fcyclic the turn has passed: as in task/affinity, the skip then
        // falls on the next socket.
        let (socket, exceeds) = (self.socket, self.counters.exceeds_core());
        let next = self.sockets[socket].next;
        let core_end = |next| self.table.core_end_in_socket(socket, next);
        self.sockets[socket].next = walk.after_task(next, exceeds, self.table, core_end);
        if !each_cpu {
            self.turn();
        }
        placed.complete();
        Ok(())
    }

    fn turn(&mut self) {
        self.socket += 1;
        if self.socket == self.sockets.len() {
            self.socket = 0;
        }
    }

    /// Whether the socket whose turn it is has hardware threads left.
    fn has_some(&self) -> bool {
        let cursor = &self.sockets[self.socket];
        (cursor.next as usize) < cursor.pus.len()
    }

    /// Goes on to a socket that has hardware threads left; if none has, the next round begins.
    #[inline(never)]
    fn leave_full_socket(&mut self, walk: &Walk, placed: &mut Placed) -> Result<(), NoPlace> {
        let start = self.socket;
        while !self.has_some() {
            self.turn();
            if self.socket == start {
                if !self.counters.next_round(walk, placed) {
                    return Err(NoPlace::Stuck);
                }
                self.sockets.iter_mut().for_each(|cursor| cursor.next = 0);
                if self.counters.spreads() {
                    // All have as many as the limit allows, so the turn begins anew.
                    self.socket = 0;
                }
            }
        }
        Ok(())
    }
}
