//! The complaints about this node, for `berth doctor`. Every complaint was logged when it arose.

use std::sync::{Mutex, PoisonError};

/// The complaints so far; slurmd's settings are read before it is ready.
static COMPLAINTS: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// What an administrator should know, though nothing is wrong with this node.
static DOUBTS: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// The complaint about the discovered machine, until it is discovered again.
static OF_THE_MACHINE: Mutex<Option<String>> = Mutex::new(None);

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
    DOUBTS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone()
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
