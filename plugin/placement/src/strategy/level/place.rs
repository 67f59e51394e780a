//! Matches tasks to hardware threads: it checks the request, then walks.
//! In: what the walk needs, the node, what the step owns. Out: each task's hardware threads.
//! Pure. Source: `_task_layout_lllp_block`, which also has the per-core and per-socket limits and oversubscribes by
//! starting over, and `_task_layout_lllp_cyclic`.
//!
//! Block visits the step's hardware threads in abstract order, and fills a core and a socket before it goes on to the
//! next. Cyclic and fcyclic have a cursor for each socket, and the next task starts on the next socket. Cyclic keeps a
//! task's CPUs together on its socket; fcyclic (full cyclic) moves on after every single CPU. With the fix
//! `fcyclic-cores` full cyclic passes over cores that an earlier task has ([`Walk::wants_fresh_cores`]).

use crate::answer::refusal::NoPlace;
use crate::owned::Owned;
use crate::request::distribution::Order;
use crate::sets::ids::PuIdx;
use crate::strategy::level::counters::Counters;
use crate::strategy::level::walk::{Placed, VisitOrder, Walk};
use crate::topology::pu_table::PuTable;

/// Places all tasks, and gives each task's hardware threads in local-id order. `chunk`, if given,
/// is how many threads of a core a task takes before the next core's turn.
///
/// # Errors
/// [`NoPlace`] if task/affinity gives up too.
pub(crate) fn place(
    walk: &Walk,
    table: &PuTable,
    owned: &Owned,
    chunk: Option<u32>,
) -> Result<Placed, NoPlace> {
    let order_of_visits = match chunk {
        None => VisitOrder::plain(table),
        Some(chunk) => VisitOrder::by_threads(table, chunk),
    };
    match walk.order {
        Order::Block => in_blocks(walk, table, &order_of_visits, owned),
        Order::Cyclic | Order::Fcyclic => in_turns(walk, table, &order_of_visits, owned),
    }
}

/// Checks the request before the walk, and gives the CPUs per task that fit. They are
/// fewer than requested if the step has too few (with `--overcommit`, or if slurmctld
/// granted less). `threads` is the number of hardware threads per core that slurmd counts.
///
/// # Errors
/// [`NoPlace`] if there is less than one CPU per task.
pub(crate) fn cpus_per_task_that_fit(
    walk: &Walk,
    threads: u32,
    table: &PuTable,
    owned: &Owned,
) -> Result<u32, NoPlace> {
    let (tasks, cpus_per_task) = (walk.tasks, walk.cpus_per_task);
    if let Some(limit) = walk.threads_per_core {
        let limit = limit.max(1);
        let missing = match table.even() {
            // If more threads are configured than the hardware has, a step oversubscribes on
            // purpose.
            Some(even) if threads > even => None,
            Some(_) => Some(cpus_per_task.saturating_mul(threads / limit))
                .filter(|needed| owned.count < *needed),
            None => (owned.count_within(table, limit) < cpus_per_task).then_some(cpus_per_task),
        };
        if let Some(needed) = missing {
            return Err(NoPlace::ThreadsPerCore { needed });
        }
    }
    if owned.count < tasks {
        return Err(NoPlace::TooManyTasks);
    }
    let wanted = u64::from(tasks) * u64::from(cpus_per_task);
    Ok(if u64::from(owned.count) < wanted {
        owned.count / tasks.max(1)
    } else {
        cpus_per_task
    })
}

/// Each task's hardware threads, in local-id order.
///
/// ```text
/// 2 sockets × 2 cores × 1 thread, 4 tasks     socket 0: t0 t1   socket 1: t2 t3
/// ```
#[inline(never)]
fn in_blocks(
    walk: &Walk,
    table: &PuTable,
    order_of_visits: &VisitOrder<'_>,
    owned: &Owned,
) -> Result<Placed, NoPlace> {
    let mut placed = Placed::room_for(walk);
    let mut counters = Counters::new(walk, table);
    loop {
        let before = placed.count();
        // A task that began before the end of a round goes on in the next.
        round(
            walk,
            (table, order_of_visits),
            owned,
            &mut counters,
            &mut placed,
        );
        if placed.count() >= walk.tasks {
            return Ok(placed);
        }
        let goes_on = counters.spreads() || placed.count() > before;
        if !goes_on || !counters.next_round(walk, &mut placed) {
            return Err(NoPlace::Stuck);
        }
    }
}

fn round(
    walk: &Walk,
    (table, order_of_visits): (&PuTable, &VisitOrder<'_>),
    owned: &Owned,
    counters: &mut Counters,
    placed: &mut Placed,
) {
    let mut place = 0;
    while placed.count() < walk.tasks
        && let Some(pu) = order_of_visits.whole(place)
    {
        place += 1;
        if !owned.has(pu) || counters.forbid(walk, table, pu) {
            continue;
        }
        placed.add(pu);
        counters.take(table, pu);
        if (placed.under_way().len() as u32) < walk.cpus_per_task {
            continue;
        }
        counters.complete(walk, table, placed.under_way());
        let exceeds = counters.exceeds_core();
        place = walk.after_task(place, exceeds, table, |next| table.core_end(next));
        placed.complete();
    }
}

/// Each task's hardware threads, in local-id order.
///
/// ```text
/// 2 sockets × 2 cores × 1 thread
/// 4 tasks, cyclic or fcyclic      socket 0: t0 t2   socket 1: t1 t3
/// 2 tasks, -c2, cyclic            socket 0: t0 t0   socket 1: t1 t1
/// 2 tasks, -c2, fcyclic           socket 0: t0 t1   socket 1: t0 t1
/// ```
#[inline(never)]
fn in_turns(
    walk: &Walk,
    table: &PuTable,
    order_of_visits: &VisitOrder<'_>,
    owned: &Owned,
) -> Result<Placed, NoPlace> {
    if table.sockets.iter().all(<[_]>::is_empty) {
        return Err(NoPlace::Stuck);
    }
    let mut cursors = Cursors::new(walk, table, order_of_visits);
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
    fn new(walk: &Walk, table: &'a PuTable, order_of_visits: &'a VisitOrder<'a>) -> Self {
        Self {
            table,
            sockets: (0..table.sockets.len())
                .map(|socket| Cursor {
                    pus: order_of_visits.socket(socket),
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
