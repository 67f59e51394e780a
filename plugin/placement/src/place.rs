//! Tasks matched to hardware threads: checks before, the walk, masks after.
//! In: request, PU table, what is available. Out: each task's slots.
//! Pure. Source: `_task_layout_lllp_block`, `_task_layout_lllp_cyclic`.

use crate::available::Available;
use crate::cpu_bind::Level;
use crate::distribution::Order;
use crate::host::PuTable;
use crate::place_block;
use crate::place_cyclic;
use crate::walk::{NoPlace, Walk};

/// Places all tasks: each task's slots, in local-id order.
///
/// # Errors
/// [`NoPlace`] where task/affinity gives up too.
pub fn place(
    walk: &Walk,
    table: &PuTable,
    available: &Available,
) -> Result<Vec<Vec<u32>>, NoPlace> {
    let mut tasks = match walk.order {
        Order::Block => place_block::walk(walk, table, available),
        Order::Cyclic | Order::Fcyclic => place_cyclic::walk(walk, table, available),
    }?;
    for task in &mut tasks {
        widen(task, walk.level, table, available);
    }
    Ok(tasks)
}

/// The checks before the walk; gives the CPUs per task that fit, which are
/// fewer than asked when the step has too few (`--overcommit`, or slurmctld
/// granted less). `threads`: hardware threads of a core that steps may use.
///
/// # Errors
/// [`NoPlace`] when not even one CPU a task is there.
pub fn cpus_per_task_that_fit(
    walk: &Walk,
    threads: u32,
    table: &PuTable,
    available: &Available,
) -> Result<u32, NoPlace> {
    let (tasks, cpus_per_task) = (walk.tasks, walk.cpus_per_task);
    // More threads configured than the hardware has: a step oversubscribes on purpose.
    if let Some(limit) = walk.threads_per_core.filter(|_| threads <= table.stride) {
        let needed = cpus_per_task.saturating_mul(threads / limit.max(1));
        if available.count < needed {
            return Err(NoPlace::ThreadsPerCore { needed });
        }
    }
    if available.count < tasks {
        return Err(NoPlace::TooManyTasks);
    }
    let wanted = u64::from(tasks) * u64::from(cpus_per_task);
    Ok(if u64::from(available.count) < wanted {
        available.count / tasks.max(1)
    } else {
        cpus_per_task
    })
}

/// Grows a task's slots to all usable ones of the cores or sockets they touch.
/// Source: `_expand_masks`. Memory domains are widened later, by kernel number.
fn widen(task: &mut Vec<u32>, level: Level, table: &PuTable, free: &Available) {
    match level {
        Level::Threads | Level::Ldoms => return,
        Level::Cores if table.stride < 2 => return,
        Level::Cores => {
            let mut cores: Vec<_> = task.iter().map(|slot| slot / table.stride).collect();
            cores.sort_unstable();
            cores.dedup();
            for core in cores {
                let first = core * table.stride;
                task.extend(free.among(first..first + table.stride));
            }
        }
        Level::Sockets if let Some(count) = table.widened_by => {
            let mut parts: Vec<_> = task.iter().map(|slot| slot / count).collect();
            parts.sort_unstable();
            parts.dedup();
            for part in parts {
                task.extend(free.among(part * count..(part + 1) * count));
            }
        }
        Level::Sockets => {
            let socket_of = |slot: &u32| table.slots[*slot as usize].socket;
            let mut sockets: Vec<_> = task.iter().map(socket_of).collect();
            sockets.sort_unstable();
            sockets.dedup();
            for socket in sockets {
                task.extend(free.among(table.sockets[socket as usize].iter().copied()));
            }
        }
    }
    task.sort_unstable();
    task.dedup();
}
