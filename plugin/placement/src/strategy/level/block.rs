//! Block: walk the step's hardware threads in abstract order, filling cores and
//! sockets before going on to the next.
//! Pure. Source: `_task_layout_lllp_block`; the per-core and per-socket limits
//! and the oversubscription by starting over are its.

use crate::owned::Available;
use crate::strategy::level::walk::{Counters, NoPlace, Placed, Walk};
use crate::topology::host::PuTable;

/// Each task's slots, in local-id order.
///
/// ```text
/// 2 sockets × 2 cores × 1 thread, 4 tasks     socket 0: t0 t1   socket 1: t2 t3
/// ```
pub fn walk(walk: &Walk, table: &PuTable, available: &Available) -> Result<Placed, NoPlace> {
    // A task that began before the end of a round goes on in the next.
    let mut placed = Placed::room_for(walk);
    while placed.count() < walk.tasks {
        let before = placed.count();
        round(walk, table, available, &mut placed);
        if placed.count() == before {
            return Err(NoPlace::Stuck);
        }
    }
    Ok(placed)
}

fn round(walk: &Walk, table: &PuTable, available: &Available, placed: &mut Placed) {
    let mut counters = Counters::new(table);
    let mut place = 0;
    while placed.count() < walk.tasks
        && let Some(slot) = table.in_order(place)
    {
        place += 1;
        if !available.has(slot) || counters.forbid(walk, table, slot) {
            continue;
        }
        placed.add(slot);
        counters.take(table, slot);
        if (placed.under_way().len() as u32) < walk.cpus_per_task {
            continue;
        }
        counters.complete(walk, table, placed.under_way());
        place = walk.after_task(place, table.stride);
        placed.complete();
    }
}
