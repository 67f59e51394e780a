//! The complaints about this node, for `berth doctor`. Every complaint was logged when it arose.

use std::sync::{Mutex, PoisonError};

/// The complaints so far; slurmd's settings are read before it is ready.
static COMPLAINTS: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// What an administrator should know, though nothing is wrong with this node.
static DOUBTS: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// What was found at the last look at something that can change while slurmd runs.
static LATEST: Mutex<[Latest; 3]> = Mutex::new([Latest::NONE; 3]);

/// What slurmd looks at again while it runs.
#[derive(Clone, Copy)]
pub(crate) enum About {
    /// The discovered machine.
    Machine = 0,
    /// The site's file of cpusets.
    Cpusets = 1,
    /// The site's file of pools.
    Pools = 2,
}

/// The result of the last look.
#[derive(PartialEq, Eq)]
struct Latest {
    wrong: Option<String>,
    doubts: Vec<String>,
}

impl Latest {
    const NONE: Self = Self {
        wrong: None,
        doubts: Vec::new(),
    };
}

/// Adds a complaint for the administrator, which was logged. Returns whether it is a new one.
pub(crate) fn add(why: String) -> bool {
    add_to(&COMPLAINTS, why)
}

/// Adds something that is no fault of the node. Returns whether it is new.
pub(crate) fn doubt(why: String) -> bool {
    add_to(&DOUBTS, why)
}

fn add_to(list: &Mutex<Vec<String>>, why: String) -> bool {
    let mut all = list.lock().unwrap_or_else(PoisonError::into_inner);
    let is_new = !all.contains(&why);
    if is_new {
        all.push(why);
    }
    is_new
}

/// All doubts.
pub(crate) fn doubts() -> Vec<String> {
    let mut all = DOUBTS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    let latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
    all.extend(latest.iter().flat_map(|latest| latest.doubts.clone()));
    all
}

/// Sets the result of a look; the one before no longer counts. Returns whether it is another.
pub(crate) fn set(about: About, wrong: Option<String>, doubts: Vec<String>) -> bool {
    let mut all = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
    let now = Latest { wrong, doubts };
    let Some(latest) = all.get_mut(about as usize) else {
        return false;
    };
    let is_new = *latest != now;
    *latest = now;
    is_new
}

/// All of them.
pub(crate) fn all() -> Vec<String> {
    let mut all = COMPLAINTS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    let latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
    all.extend(latest.iter().filter_map(|latest| latest.wrong.clone()));
    all
}
