//! Tasks matched to hardware threads: checks before, the walk, masks after.
//! In: request, PU table, what is available. Out: each task's CPUs.
//! Pure. Source: `_task_layout_lllp_block`, `_task_layout_lllp_cyclic`.

use crate::owned::Available;
use crate::request::cpu_bind::Level;
use crate::request::distribution::Order;
use crate::sets::cpuset::CpuSet;
use crate::strategy::level::block;
use crate::strategy::level::cyclic;
use crate::strategy::level::walk::{NoPlace, Walk};
use crate::topology::host::PuTable;

/// Places all tasks: each task's CPUs, in local-id order.
///
/// # Errors
/// [`NoPlace`] where task/affinity gives up too.
pub fn place(walk: &Walk, table: &PuTable, available: &Available) -> Result<Vec<CpuSet>, NoPlace> {
    let placed = match walk.order {
        Order::Block => block::walk(walk, table, available),
        Order::Cyclic | Order::Fcyclic => cyclic::walk(walk, table, available),
    }?;
    let mut widening = Widening::new(walk.level, table, available);
    Ok(placed.tasks().map(|task| widening.cpus(task)).collect())
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
struct Widening<'a> {
    table: &'a PuTable,
    free: &'a Available,
    by: Wide,
}

/// What a task's slots grow to.
enum Wide {
    /// Nothing more.
    Slots,
    /// Cores.
    Cores,
    /// Neighbouring slots, so many in a part; the usable CPUs of the parts seen so far.
    Parts(u32, Vec<Option<CpuSet>>),
    /// Sockets; the usable CPUs of those seen so far.
    Sockets(Vec<Option<CpuSet>>),
}

impl<'a> Widening<'a> {
    fn new(level: Level, table: &'a PuTable, free: &'a Available) -> Self {
        let by = match level {
            Level::Threads | Level::Ldoms => Wide::Slots,
            Level::Cores if table.stride < 2 => Wide::Slots,
            Level::Cores => Wide::Cores,
            Level::Sockets => match table.widened_by {
                Some(count) => Wide::Parts(count, vec![None; table.len().div_ceil(count as usize)]),
                None => Wide::Sockets(vec![None; table.sockets.len()]),
            },
        };
        Self { table, free, by }
    }

    /// The CPUs of a task.
    fn cpus(&mut self, task: &[u32]) -> CpuSet {
        let (table, free) = (self.table, self.free);
        let usable = |range: std::ops::Range<u32>| table.cpus(free.among(range));
        let mut cpus = table.cpus(task.iter().copied());
        for slot in task {
            match &mut self.by {
                Wide::Slots => {}
                Wide::Cores => {
                    let first = slot - slot % table.stride;
                    for slot in free.among(first..first + table.stride) {
                        table.add_cpu(slot, &mut cpus);
                    }
                }
                Wide::Parts(count, seen) => {
                    let part = slot / *count;
                    let whole = || usable(part * *count..(part + 1) * *count);
                    cpus.insert_all(seen[part as usize].get_or_insert_with(whole));
                }
                Wide::Sockets(seen) => {
                    let socket = table.slots[*slot as usize].socket as usize;
                    let whole = || table.cpus(free.among(table.sockets[socket].iter().copied()));
                    cpus.insert_all(seen[socket].get_or_insert_with(whole));
                }
            }
        }
        cpus
    }
}
