//! Block: the walk visits the step's hardware threads in abstract order, and fills a core and a
//! socket before it goes on to the next.
//! Pure. Source: `_task_layout_lllp_block`, which also has the per-core and per-socket limits
//! and oversubscribes by starting over.

use crate::answer::refusal::NoPlace;
use crate::owned::Owned;
use crate::strategy::level::counters::Counters;
use crate::strategy::level::course::Course;
use crate::strategy::level::walk::{Placed, Walk};
use crate::topology::pu_table::PuTable;

/// Each task's hardware threads, in local-id order.
///
/// ```text
/// 2 sockets × 2 cores × 1 thread, 4 tasks     socket 0: t0 t1   socket 1: t2 t3
/// ```
#[inline(never)]
pub(crate) fn walk(
    walk: &Walk,
    table: &PuTable,
    course: &Course<'_>,
    owned: &Owned,
) -> Result<Placed, NoPlace> {
    let mut placed = Placed::room_for(walk);
    let mut counters = Counters::new(walk, table);
    loop {
        let before = placed.count();
        // A task that began before the end of a round goes on in the next.
        round(walk, (table, course), owned, &mut counters, &mut placed);
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
    (table, course): (&PuTable, &Course<'_>),
    owned: &Owned,
    counters: &mut Counters,
    placed: &mut Placed,
) {
    let mut place = 0;
    while placed.count() < walk.tasks
        && let Some(pu) = course.whole(place)
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
