//! What happened, counted while it happens.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::options::Options;

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

/// Of so many steps one may end badly: killed ones do.
const WELL: u64 = 3;
/// So many more for each slurmd that was killed: no step starts until the next one is ready.
const AWAY: u64 = 50;
/// A run of so many steps shows whether memory grows.
const LONG: u64 = 20_000;

impl Counts {
    /// Why a run shows little, whatever its tasks have found. `grown`: whether a slurmd lived long enough for its memory
    /// to be judged.
    pub fn shows_little(&self, options: &Options, grown: bool) -> Vec<String> {
        let n = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (steps, failed) = (n(&self.steps), n(&self.failed));
        let all = [
            (
                failed > steps / WELL + n(&self.slurmds_killed) * AWAY,
                format!("{failed} of {steps} steps ended badly"),
            ),
            (
                options.upgrades.is_some() && n(&self.upgraded) == 0,
                "nothing was upgraded".into(),
            ),
            (
                options.hotplug.is_some() && n(&self.went_off) == 0,
                "no CPU went off".into(),
            ),
            (
                steps >= LONG && !grown,
                "no slurmd lived long enough to say whether its memory grows".into(),
            ),
        ];
        let wrong = all.into_iter().filter(|(is_wrong, _)| *is_wrong);
        wrong.map(|(_, text)| text).collect()
    }
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
