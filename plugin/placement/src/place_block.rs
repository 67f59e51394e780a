//! Block: walk the step's hardware threads in abstract order, filling cores and
//! sockets before going on to the next.
//! Pure. Source: `_task_layout_lllp_block`; the per-core and per-socket limits
//! and the oversubscription by starting over are its.

use crate::available::Available;
use crate::host::PuTable;
use crate::walk::{Counters, NoPlace, Walk};

/// Each task's slots, in local-id order.
///
/// ```text
/// 2 sockets × 2 cores × 1 thread, 4 tasks     socket 0: t0 t1   socket 1: t2 t3
/// ```
pub fn walk(walk: &Walk, table: &PuTable, available: &Available) -> Result<Vec<Vec<u32>>, NoPlace> {
    let mut tasks = Vec::with_capacity(walk.tasks as usize);
    // A task that began before the end of a round goes on in the next.
    let mut slots = Vec::new();
    while (tasks.len() as u32) < walk.tasks {
        let before = tasks.len();
        round(walk, table, available, &mut slots, &mut tasks);
        if tasks.len() == before {
            return Err(NoPlace::Stuck);
        }
    }
    Ok(tasks)
}

fn round(
    walk: &Walk,
    table: &PuTable,
    available: &Available,
    slots: &mut Vec<u32>,
    tasks: &mut Vec<Vec<u32>>,
) {
    let mut counters = Counters::new(table);
    let mut place = 0;
    while (tasks.len() as u32) < walk.tasks
        && let Some(slot) = table.in_order(place)
    {
        place += 1;
        if !available.has(slot) || counters.forbid(walk, table, slot) {
            continue;
        }
        slots.push(slot);
        counters.take(table, slot);
        if (slots.len() as u32) < walk.cpus_per_task {
            continue;
        }
        counters.complete(walk, table, slots);
        place = walk.after_task(place, table.stride);
        tasks.push(std::mem::take(slots));
    }
}
