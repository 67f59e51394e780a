//! What is wrong on this node, for `berth doctor`: every complaint was logged when it came up.

use std::sync::{Mutex, PoisonError};

/// What was wrong so far; slurmd's settings are read before it is ready.
static COMPLAINTS: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// What is wrong with the machine as it was discovered, until it is discovered again.
static OF_THE_MACHINE: Mutex<Option<String>> = Mutex::new(None);

/// Something the administrator should know; it was logged.
pub(crate) fn add(why: String) {
    let mut all = COMPLAINTS.lock().unwrap_or_else(PoisonError::into_inner);
    if !all.contains(&why) {
        all.push(why);
    }
}

/// How the last discovery came out.
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
