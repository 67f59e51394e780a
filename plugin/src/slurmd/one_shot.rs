//! A thread in slurmd for one piece of work, without slurmd's signals: it runs once at a time, and ends with its work.
//! In: the work. Out: nothing.

use std::panic::catch_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, SigmaskHow};
use slurm_sys::process::{Daemon, daemon, is_slurms_daemon};

/// A stack that is large enough to read the machine file of the largest host.
const STACK: usize = 1 << 20;
/// slurmd's end waits for the thread's for so long, and looks so often.
const END: Duration = Duration::from_secs(1);
const BETWEEN_ENDS: Duration = Duration::from_millis(2);

/// Whether the thread runs now, and whether it has run. Only hooks start it, when slurmd has become a daemon: a process
/// that slurmd forks before has neither.
static RUNS: AtomicBool = AtomicBool::new(false);
static HAS_RUN: AtomicBool = AtomicBool::new(false);
static THREAD: Mutex<Option<JoinHandle<()>>> = Mutex::new(None);

/// Whether this process has such a thread: slurmd itself has it, a program that stands for slurmd
/// has not.
pub(super) fn is_ours_to_start() -> bool {
    static IS: OnceLock<bool> = OnceLock::new();
    *IS.get_or_init(|| daemon() == Daemon::Slurmd && is_slurms_daemon())
}

/// Whether it was started in this process.
pub(super) fn has_run() -> bool {
    HAS_RUN.load(Ordering::Relaxed)
}

/// Starts the thread unless it runs; from a hook.
pub(super) fn start(work: fn()) {
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

/// Waits a moment for the thread's end: slurmd's end never hangs on one that is busy.
pub(super) fn stop() {
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
