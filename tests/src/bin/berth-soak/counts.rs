//! What happened, counted while it happens.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// The counters.
#[derive(Debug, Default)]
pub struct Counts {
    pub steps: AtomicU64,
    pub overlapping: AtomicU64,
    pub failed: AtomicU64,
    pub unbound: AtomicU64,
    pub tasks_killed: AtomicU64,
    pub steps_killed: AtomicU64,
    pub stepds_killed: AtomicU64,
    pub slurmds_killed: AtomicU64,
    pub slurmctlds_killed: AtomicU64,
    pub suspended: AtomicU64,
    pub upgraded: AtomicU64,
    pub went_off: AtomicU64,
    pub abandoned: AtomicU64,
}

/// One more.
pub fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        write!(
            f,
            "{} of them --overlap, {} with a note, {} ended badly; killed: {} tasks, {} steps, {} \
             slurmstepds, {} slurmds, {} slurmctlds; {} jobs suspended, {} without an srun cancelled; {} upgrades; CPUs went off {} times",
            n(&self.overlapping),
            n(&self.unbound),
            n(&self.failed),
            n(&self.tasks_killed),
            n(&self.steps_killed),
            n(&self.stepds_killed),
            n(&self.slurmds_killed),
            n(&self.slurmctlds_killed),
            n(&self.suspended),
            n(&self.abandoned),
            n(&self.upgraded),
            n(&self.went_off)
        )
    }
}
