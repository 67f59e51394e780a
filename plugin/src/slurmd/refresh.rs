//! Work that no launch waits for: slurmd announces itself as the process that it has become, puts a lost key back,
//! discovers the machine again, and reads the site's files after `berth reload`. A thread without slurmd's signals
//! does it, one at a time, and ends with its work.

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, SigmaskHow};
use nix::unistd::{AccessFlags, access};
use slurm_sys::process::{Daemon, daemon, is_slurms_daemon};

use crate::site::metrics;
use crate::site::node::state_dir;
use crate::slurmd::discovery::{self, MachineState};
use crate::slurmd::{announce, complaints, cpuset, key, pool};

/// Launches ask for no more than one discovery in this time.
const BETWEEN_DISCOVERIES: Duration = Duration::from_secs(60);

/// A stack that is large enough to read the machine file of the largest host.
const STACK: usize = 1 << 20;
/// The time that slurmd's end waits for the thread.
const END: Duration = Duration::from_secs(1);
/// The time between two looks.
const BETWEEN_ENDS: Duration = Duration::from_millis(2);

/// The file that `berth reload` makes.
static RELOAD: RwLock<Option<CString>> = RwLock::new(None);

/// Whether the thread runs now, and whether it has run. Only hooks start it, when slurmd has become a daemon: a process
/// that slurmd forks before has neither.
static RUNS: AtomicBool = AtomicBool::new(false);
static HAS_RUN: AtomicBool = AtomicBool::new(false);
static THREAD: Mutex<Option<JoinHandle<()>>> = Mutex::new(None);

/// slurmd starts and reads everything, so an earlier `berth reload` is done.
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
    if is_reload_requested() || (is_unknown && may_discover()) || !has_run() {
        start(work);
    }
    if_news();
}

/// From a hook: what it has found wrong or right is announced.
pub(crate) fn if_news() {
    if complaints::are_news() {
        start(work);
    }
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
        cpuset::read_site_file(&node_name);
        pool::read_site_file(&node_name);
        announce::again();
    }
    // Where that cannot be written, the next launch tries again.
    while complaints::are_news() && announce::again() {}
}

/// Whether this process has such a thread: slurmd itself has it, a program that stands for slurmd
/// has not.
pub(super) fn is_ours_to_start() -> bool {
    static IS: OnceLock<bool> = OnceLock::new();
    *IS.get_or_init(|| daemon() == Daemon::Slurmd && is_slurms_daemon())
}

/// Whether it was started in this process.
fn has_run() -> bool {
    HAS_RUN.load(Ordering::Relaxed)
}

/// Starts the thread unless it runs; from a hook.
fn start(work: fn()) {
    if !is_ours_to_start() || RUNS.swap(true, Ordering::Relaxed) {
        return;
    }
    HAS_RUN.store(true, Ordering::Relaxed);
    // A thread inherits the mask; slurmd's signals are for slurmd's own threads.
    let mut before = SigSet::empty();
    let all = SigSet::all();
    let blocked =
        nix::sys::signal::pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&all), Some(&mut before));
    let thread = Builder::new().name("berth".into()).stack_size(STACK);
    let started = thread.spawn(move || {
        // The panic hook has logged it; slurmd goes on.
        let _ = catch_unwind(work);
        RUNS.store(false, Ordering::Relaxed);
    });
    if blocked.is_ok() {
        // It was just taken from here, so it cannot be refused.
        let _ = before.thread_set_mask();
    }
    match started {
        Ok(thread) => *handle() = Some(thread),
        Err(why) => {
            RUNS.store(false, Ordering::Relaxed);
            HAS_RUN.store(false, Ordering::Relaxed);
            log::debug!("slurmd has no thread of berth yet: {why}");
        }
    }
}

/// slurmd is about to end, and waits a moment for the thread's end: it never hangs on one that is busy.
pub(crate) fn stop() {
    if let Some(thread) = handle().take() {
        ends(thread, END);
    }
}

/// Whether a thread ends in this time.
fn ends(thread: JoinHandle<()>, most: Duration) -> bool {
    let since = Instant::now();
    while !thread.is_finished() {
        if since.elapsed() >= most {
            return false;
        }
        sleep(BETWEEN_ENDS);
    }
    thread.join().is_ok()
}

fn handle() -> MutexGuard<'static, Option<JoinHandle<()>>> {
    THREAD.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threads_end_is_waited_for_but_not_for_long() {
        let pause = |time| std::thread::spawn(move || sleep(time));
        assert!(ends(pause(Duration::ZERO), Duration::from_secs(60)));
        let since = Instant::now();
        assert!(!ends(pause(Duration::from_secs(9)), Duration::ZERO));
        assert!(since.elapsed() < Duration::from_secs(9));
        // One that has panicked has ended.
        let panicked = std::thread::spawn(|| std::panic::resume_unwind(Box::new(())));
        assert!(!ends(panicked, Duration::from_secs(60)));
    }
}
