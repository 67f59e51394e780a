//! The thread itself: slurmd has one of ours at the most, without slurmd's signals, and waits a moment for its end.
//! In: the work. Out: nothing, when it has ended or after that moment.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, SigmaskHow};
use slurm_sys::process::{Daemon, daemon, is_slurms_daemon};

/// A stack that is large enough to read the machine file of the largest host.
const STACK: usize = 1 << 20;
/// slurmd's end waits for the thread's for so long, and looks so often.
const END: Duration = Duration::from_secs(1);
const BETWEEN_ENDS: Duration = Duration::from_millis(2);
/// slurmd sets it for the process that it starts in its place when it is told to read its configuration again (from
/// 23.11 on). That one never becomes another process.
const SUCCESSOR: &str = "SLURMD_RECONF";

/// Letters of slurmd's options that have no value.
const FLAGS: &[u8] = b"bcCGhMsvVZ";

/// The process in which the thread runs: a process that it forks does not have it.
static RUNS: AtomicU32 = AtomicU32::new(0);
static THREAD: Mutex<Option<JoinHandle<()>>> = Mutex::new(None);
/// What the thread waits for between two looks.
pub(super) static BELL: Condvar = Condvar::new();

/// slurmd has other settings, or a key. A thread that runs looks at the files that they name, and at the key.
pub(super) fn wake() {
    BELL.notify_one();
}

/// Whether this process has such a thread: slurmd itself has it, a program that stands for slurmd
/// has not.
pub(super) fn is_ours_to_start() -> bool {
    static IS: OnceLock<bool> = OnceLock::new();
    *IS.get_or_init(|| daemon() == Daemon::Slurmd && is_slurms_daemon())
}

/// Whether this process stays slurmd: another slurmd has started it in its place, or its command line says so. Any
/// other slurmd becomes a daemon after it has loaded its plugins, and that process has no threads.
pub(super) fn stays() -> bool {
    let line = || std::fs::read("/proc/self/cmdline").unwrap_or_default();
    std::env::var_os(SUCCESSOR).is_some() || is_in_foreground(&line())
}

/// In: `/proc/PID/cmdline` of a slurmd. A word that is not known to be of use means no. Source: `_process_cmdline` and
/// `_slurmd_init` of slurmd.c.
fn is_in_foreground(line: &[u8]) -> bool {
    let mut words = line.split(|byte| *byte == 0).skip(1);
    while let Some(word) = words.next() {
        match word {
            b"--systemd" => return true,
            b"--" => return false,
            [b'-', b'-', ..] | [b'-'] => {}
            [b'-', letters @ ..] => match letters.iter().position(|letter| !FLAGS.contains(letter))
            {
                None => {}
                Some(at) if letters.get(at) == Some(&b'D') => return true,
                // Its value is the rest of the word, or the next one.
                Some(at) if at + 1 == letters.len() => drop(words.next()),
                Some(_) => {}
            },
            _ => {}
        }
    }
    false
}

/// Starts the thread if it does not run yet.
pub(super) fn start(work: fn()) {
    if !is_ours_to_start() {
        return;
    }
    let own = std::process::id();
    if RUNS.swap(own, Ordering::Relaxed) == own {
        return;
    }
    // A thread inherits the mask; slurmd's signals are for slurmd's own threads.
    let mut before = SigSet::empty();
    let all = SigSet::all();
    let blocked =
        nix::sys::signal::pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&all), Some(&mut before));
    let thread = Builder::new().name("berth".into()).stack_size(STACK);
    let started = thread.spawn(move || {
        // The panic hook has logged it; slurmd goes on without this thread.
        let _ = catch_unwind(AssertUnwindSafe(work));
    });
    if blocked.is_ok() {
        // It was just taken from here, so it cannot be refused.
        let _ = before.thread_set_mask();
    }
    match started {
        // One of the process that has forked this one is no thread here.
        Ok(thread) => std::mem::forget(handle().replace(thread)),
        Err(why) => {
            RUNS.store(0, Ordering::Relaxed);
            log::debug!("slurmd has no thread of berth yet: {why}");
        }
    }
}

/// The thread's last word: it may be started again.
pub(super) fn ended() {
    RUNS.store(0, Ordering::Relaxed);
}

/// Tells the thread that it shall end, and waits a moment for that: slurmd's end never hangs on one that is busy.
pub(super) fn stop(tell: impl FnOnce()) {
    if RUNS.load(Ordering::Relaxed) == std::process::id()
        && let Some(thread) = handle().take()
    {
        tell();
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
    fn a_slurmd_in_the_foreground_stays() {
        let is = |line: &str| is_in_foreground(line.replace(' ', "\0").as_bytes());
        for line in [
            "/usr/sbin/slurmd -D -s",
            "slurmd --systemd",
            "slurmd --systemd -f /x",
            "slurmd -vvD",
            "slurmd -f /etc/x -N n1 -D",
            "slurmd --conf-server h:1 -Dc",
            "slurmd -Lfile -D",
        ] {
            assert!(is(line), "{line}");
        }
        for line in [
            "slurmd",
            "slurmd -c -vv",
            "slurmd -N -D",
            "slurmd -fD",
            "slurmd -LD x",
            "slurmd -- -D",
            "-D",
            "",
        ] {
            assert!(!is(line), "{line}");
        }
    }

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
