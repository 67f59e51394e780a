//! Counts of slurmd's hooks: they only add to numbers in memory, which slurmd's own thread brings
//! into the node's counts.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use berth_host::counters::Counters;
use slurm_sys::SlurmdConf;

use crate::site::standing::Abi;
use crate::site::{counters, settings};

/// The counts of slurmd's hooks that are not written yet.
static REFUSED: AtomicU64 = AtomicU64::new(0);
static SWITCHED_OFF: AtomicU64 = AtomicU64::new(0);
static RESERVED_GRANTED: AtomicU64 = AtomicU64::new(0);
static RESERVED_USED: AtomicU64 = AtomicU64::new(0);
/// The node that they belong to.
static NODE: OnceLock<String> = OnceLock::new();

/// slurmd starts: the public file shows that before any step has run.
pub(crate) fn begin(node_name: &str) {
    NODE.get_or_init(|| node_name.into());
    counters::begin(node_name);
}

/// slurmd has refused a step or script; from a hook. Returns whether the count must be published.
pub(crate) fn refused(slurm: Abi) -> bool {
    count(&REFUSED, 1, slurm)
}

/// slurmd has left tasks alone because of the switch-off file; from a hook. Returns whether
/// the count must be published.
pub(crate) fn switched_off(slurm: Abi, tasks: u32) -> bool {
    count(&SWITCHED_OFF, tasks.into(), slurm)
}

/// slurmd has seen a step or script with reserved CPUs, and perhaps no others; from a hook. Returns
/// whether the count must be published.
pub(crate) fn reserved(slurm: Abi, has_no_others: bool) -> bool {
    count(&RESERVED_USED, has_no_others.into(), slurm);
    count(&RESERVED_GRANTED, 1, slurm)
}

fn count(number: &AtomicU64, more: u64, slurm: Abi) -> bool {
    if !settings::current().counters {
        return false;
    }
    if NODE.get().is_none() {
        // SAFETY: the layout is the running release's, and the view ends here.
        let conf = unsafe { SlurmdConf::current(slurm.layout, slurm.symbols) };
        match conf.and_then(|conf| conf.node_name()) {
            Some(name) => NODE.get_or_init(|| name),
            None => return false,
        };
    }
    number.fetch_add(more, Ordering::Relaxed);
    true
}

/// Adds the counts of slurmd's hooks to the node's counts; never in a hook.
pub(crate) fn publish() {
    let all = [&REFUSED, &SWITCHED_OFF, &RESERVED_GRANTED, &RESERVED_USED];
    let counts = all.map(|number| number.swap(0, Ordering::Relaxed));
    let has_some = counts.iter().any(|count| *count > 0);
    let Some(node_name) = NODE.get().filter(|_| has_some) else {
        return;
    };
    let [refused, off, reserved_granted, reserved_used] = counts;
    let more = Counters {
        refused,
        unbound: off,
        switched_off: off,
        reserved_granted,
        reserved_used,
        ..Counters::default()
    };
    if !counters::add(node_name, &more) {
        // They are kept for the next time.
        for (number, count) in all.into_iter().zip(counts) {
            number.fetch_add(count, Ordering::Relaxed);
        }
    }
}
