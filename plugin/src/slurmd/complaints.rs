//! The complaints about this node, for `berth doctor`. Every complaint was logged when it arose.

use std::sync::{Mutex, PoisonError};

/// The complaints so far; slurmd's settings are read before it is ready.
static COMPLAINTS: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// The complaint about the discovered machine, until it is discovered again.
static OF_THE_MACHINE: Mutex<Option<String>> = Mutex::new(None);

/// Adds a complaint for the administrator, which was logged.
pub(crate) fn add(why: String) {
    let mut all = COMPLAINTS.lock().unwrap_or_else(PoisonError::into_inner);
    if !all.contains(&why) {
        all.push(why);
    }
}

/// Sets the result of the last discovery.
pub(crate) fn of_the_machine(why: Option<String>) {
    *OF_THE_MACHINE
        .lock()
        .unwrap_or_else(PoisonError::into_inner) = why;
}

/// All of them.
pub(crate) fn all() -> Vec<String> {
    let mut all = COMPLAINTS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    let of_the_machine = OF_THE_MACHINE
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    all.extend(of_the_machine.clone());
    all
}
