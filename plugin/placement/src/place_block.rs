//! Block: walk the step's hardware threads in abstract order, filling cores and
//! sockets before going on to the next.
//! Pure. Source: `_task_layout_lllp_block`; the per-core and per-socket limits
//! and the oversubscription by starting over are its.

use crate::available::Available;
use crate::host::PuTable;
use crate::walk::{NoPlace, Walk};

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
    let mut core_tasks = vec![0; table.core_count as usize];
    let mut core_threads = vec![0; table.core_count as usize];
    let mut socket_tasks = vec![0; table.sockets.len()];
    let full = |used: u32, limit: Option<u32>| limit.is_some_and(|limit| used >= limit);
    let skip = walk.skip_after_task(table.stride);
    let mut at = 0;
    while at < table.len() as u32 && (tasks.len() as u32) < walk.tasks {
        let slot = at;
        at += 1;
        if !available.has(slot) {
            continue;
        }
        let core = (slot / table.stride) as usize;
        let socket = table.slots[slot as usize].socket as usize;
        if full(core_tasks[core], walk.ntasks_per_core)
            || full(socket_tasks[socket], walk.ntasks_per_socket)
            || full(core_threads[core], walk.threads_per_core)
        {
            continue;
        }
        slots.push(slot);
        core_threads[core] += 1;
        if (slots.len() as u32) < walk.cpus_per_task {
            continue;
        }
        core_tasks[core] += 1;
        socket_tasks[socket] += 1;
        at += skip;
        tasks.push(std::mem::take(slots));
    }
}
