//! The faults of this node, for `berth doctor`, by what slurmd looked at. A later look takes back what an earlier
//! one found, so a fault that is over is over for doctor too. Every complaint was logged when it arose.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The result of the last look at each thing.
static LATEST: Mutex<[Latest; 9]> = Mutex::new([Latest::NONE; 9]);
/// Whether that has changed since slurmd's last announcement.
static CHANGED: AtomicBool = AtomicBool::new(false);

/// A thing that slurmd looks at.
#[derive(Clone, Copy)]
pub(crate) enum About {
    /// The settings in plugstack.conf.
    Settings = 0,
    /// The node's line in slurm.conf beside the machine.
    Shape = 1,
    /// slurmd's key.
    Key = 2,
    /// The discovered machine.
    Machine = 3,
    /// The site's file of cpusets.
    Cpusets = 4,
    /// The site's file of pools.
    Pools = 5,
    /// `reserved=` beside the machine.
    Reserved = 6,
    /// Reserved CPUs that a step had beside others.
    SomeReserved = 7,
    /// Reserved CPUs that a step had alone.
    OnlyReserved = 8,
}

/// The result of the last look.
#[derive(PartialEq, Eq)]
struct Latest {
    wrong: Vec<String>,
    /// Warnings to the administrator, though nothing is wrong with this node.
    doubts: Vec<String>,
}

impl Latest {
    const NONE: Self = Self {
        wrong: Vec::new(),
        doubts: Vec::new(),
    };
}

fn latest() -> MutexGuard<'static, [Latest; 9]> {
    LATEST.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets the result of a look; the one before no longer counts. Returns whether it is another.
pub(crate) fn set(
    about: About,
    wrong: impl IntoIterator<Item = String>,
    doubts: impl IntoIterator<Item = String>,
) -> bool {
    let now = Latest {
        wrong: wrong.into_iter().collect(),
        doubts: doubts.into_iter().collect(),
    };
    let mut all = latest();
    let Some(latest) = all.get_mut(about as usize) else {
        return false;
    };
    let is_new = *latest != now;
    *latest = now;
    CHANGED.fetch_or(is_new, Ordering::Relaxed);
    is_new
}

/// Whether there is something that slurmd has not announced.
pub(super) fn are_news() -> bool {
    CHANGED.load(Ordering::Relaxed)
}

/// slurmd announces all of it, or could not.
pub(super) fn set_news(are_news: bool) {
    CHANGED.store(are_news, Ordering::Relaxed);
}

/// Everything that is wrong.
pub(crate) fn all() -> Vec<String> {
    let wrong = |latest: &Latest| latest.wrong.clone();
    latest().iter().flat_map(wrong).collect()
}

/// All doubts.
pub(crate) fn doubts() -> Vec<String> {
    let doubts = |latest: &Latest| latest.doubts.clone();
    latest().iter().flat_map(doubts).collect()
}
