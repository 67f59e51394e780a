//! Matches tasks to hardware threads: it checks the request, then walks.
//! In: what the walk needs, the node, what the step owns. Out: each task's hardware threads.
//! Pure. Source: `_task_layout_lllp_block`, `_task_layout_lllp_cyclic`.

use crate::answer::refusal::NoPlace;
use crate::owned::Owned;
use crate::request::distribution::Order;
use crate::strategy::level::course::Course;
use crate::strategy::level::walk::{Placed, Walk};
use crate::strategy::level::{block, cyclic};
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
    let course = match chunk {
        None => Course::plain(table),
        Some(chunk) => Course::by_threads(table, chunk),
    };
    match walk.order {
        Order::Block => block::walk(walk, table, &course, owned),
        Order::Cyclic | Order::Fcyclic => cyclic::walk(walk, table, &course, owned),
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
