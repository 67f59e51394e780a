//! The node's metrics, to which this process adds: slurmd maps them when it starts, slurmstepd when it has something to
//! add.

use std::fs;
use std::io;
use std::sync::{PoisonError, RwLock};

use berth_host::metrics::{self, Count, Mapped, PoolCounts};

use crate::site::node::state_dir;
use crate::site::settings;

/// Those of slurmd, if they could be mapped.
static MAPPED: RwLock<Option<Mapped>> = RwLock::new(None);
/// Files in which earlier releases counted.
const OLD: [&str; 3] = ["berth.prom", "berth-pools.prom", "counts.1"];

/// slurmd starts, or its state directory may be another one. With `counters=off` the file is removed.
pub(crate) fn begin(node_name: &str) {
    let settings = settings::current();
    let Ok(dir) = state_dir(node_name) else {
        return;
    };
    let own = (!settings.counters).then_some(metrics::NAME);
    for name in OLD.into_iter().chain(own) {
        // It may never have been there.
        let _ = fs::remove_file(dir.path().join(name));
    }
    let mapped = settings.counters.then(|| Mapped::open(&dir)).transpose();
    let mapped = mapped.unwrap_or_else(|why| {
        log::warn!("{}: nothing is counted: {why}", metrics::NAME);
        None
    });
    *MAPPED.write().unwrap_or_else(PoisonError::into_inner) = mapped;
}

/// slurmd has refused a step or script.
pub(crate) fn refused() {
    add(Count::Refused, 1);
}

/// Slurm has given a step or script reserved CPUs, and perhaps no others.
pub(crate) fn reserved(has_no_others: bool) {
    add(Count::ReservedGranted, 1);
    add(Count::ReservedUsed, has_no_others.into());
}

fn add(count: Count, more: u64) {
    let mapped = *MAPPED.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(mapped) = mapped {
        mapped.add(count, more);
    }
}

/// slurmd has left tasks alone because of the switch-off file.
pub(crate) fn switched_off(tasks: u64) {
    add(Count::Unbound, tasks);
    add(Count::SwitchedOff, tasks);
}

/// Adds the counts of a step that has ended.
pub(crate) fn add_step(node_name: &str, counts: &[(Count, u64)]) {
    with_words(node_name, |words| {
        counts
            .iter()
            .for_each(|(count, more)| words.add(*count, *more));
    });
}

/// Adds a step that has ended to its pool's counts.
pub(crate) fn add_to_pool(node_name: &str, pool: &str, counts: PoolCounts) {
    with_words(node_name, |words| words.add_to_pool(pool, counts));
}

fn with_words(node_name: &str, add: impl FnOnce(Mapped)) {
    if !settings::current().counters {
        return;
    }
    let dir = state_dir(node_name).map_err(io::Error::other);
    match dir.and_then(|dir| Mapped::open(&dir)) {
        Ok(words) => add(words),
        // There is a slurmstepd for each step, and each would repeat the line.
        Err(why) => log::debug!("{}: the step is not counted: {why}", metrics::NAME),
    }
}
