//! Work that no launch waits for, done once by a thread that then ends: slurmd announces itself as the process that it has
//! become, puts a lost key back, discovers the machine again, and reads the site's files after `berth reload`.

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use nix::unistd::{AccessFlags, access};

use crate::site::metrics;
use crate::site::node::state_dir;
use crate::slurmd::discovery::MachineState;
use crate::slurmd::{announce, complaints, cpusets, discovery, key, one_shot, pools};

/// Launches ask for no more than one discovery in this time.
const BETWEEN_DISCOVERIES: Duration = Duration::from_secs(60);

/// The file that `berth reload` makes.
static RELOAD: RwLock<Option<CString>> = RwLock::new(None);

/// slurmd starts, and reads everything now.
pub(crate) fn begin(node_name: &str) {
    let path = state_dir(node_name).ok().map(|dir| dir.reload_path());
    // It is rarely there.
    let _ = path.as_ref().map(fs::remove_file);
    let path = path.and_then(|path| CString::new(path.as_os_str().as_bytes()).ok());
    *RELOAD.write().unwrap_or_else(PoisonError::into_inner) = path;
}

/// From a hook that has looked at the machine: starts the thread where there is something to do.
pub(crate) fn at_launch(state: &MachineState) {
    let is_unknown = matches!(state, MachineState::Nothing | MachineState::Outdated(_))
        || discovery::has_failed();
    if is_reload_requested() || (is_unknown && may_discover()) || !one_shot::has_run() {
        one_shot::start(work);
    }
    if_news();
}

/// From a hook: what it has found wrong or right is announced.
pub(crate) fn if_news() {
    if complaints::are_news() {
        one_shot::start(work);
    }
}

/// slurmd is about to end.
pub(crate) fn stop() {
    one_shot::stop();
}

fn is_reload_requested() -> bool {
    let path = RELOAD.read().unwrap_or_else(PoisonError::into_inner);
    let is_there = |path: &CString| access(path.as_c_str(), AccessFlags::F_OK).is_ok();
    path.as_ref().is_some_and(is_there)
}

fn may_discover() -> bool {
    static LAST: Mutex<Option<Instant>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let may = last.is_none_or(|last| last.elapsed() >= BETWEEN_DISCOVERIES);
    if may {
        *last = Some(Instant::now());
    }
    may
}

fn work() {
    let Some(node_name) = announce::node_name() else {
        return;
    };
    // The process did not have its final number when slurmd loaded its plugins.
    announce::again();
    // It is removed first: what changes from now on is read after the next one.
    let is_asked =
        state_dir(&node_name).is_ok_and(|dir| fs::remove_file(dir.reload_path()).is_ok());
    // Where the directory itself was gone, so are the machine, the metrics and the site's files as they last held.
    let all = key::put_back(&node_name) | is_asked;
    if all || discovery::has_failed() || !discovery::was_tried() || discovery::is_outdated() {
        discovery::again(&node_name);
    }
    if all {
        metrics::begin(&node_name);
        cpusets::read(&node_name);
        pools::read(&node_name);
        announce::again();
    }
    while complaints::are_news() {
        announce::again();
    }
}
