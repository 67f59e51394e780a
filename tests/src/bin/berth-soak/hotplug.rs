//! Takes CPUs of the upper half off and on again while steps are launched on them.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::counts::count;
use crate::work::Soak;

/// The file whose time says when a CPU went off or on last; the tasks look at it.
pub const MARK: &str = "hotplug";

/// The CPUs that the kernel lets go, the lower half left out.
pub fn switches() -> Vec<PathBuf> {
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    (all / 2..all)
        .map(|cpu| PathBuf::from(format!("/sys/devices/system/cpu/cpu{cpu}/online")))
        .filter(|path| path.exists())
        .collect()
}

/// Until the workers are done; all CPUs are on then.
pub fn run(soak: &Soak, every: Duration, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let switches = switches();
    while !soak.done.load(Ordering::Relaxed) {
        let Some(switch) = random.choice(&switches) else {
            return;
        };
        if set(soak, switch, "0") {
            count(&soak.counts.went_off);
        }
        pause(soak, every);
        set(soak, switch, "1");
        pause(soak, every);
    }
}

fn pause(soak: &Soak, long: Duration) {
    let end = Instant::now() + long;
    while Instant::now() < end && !soak.done.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn set(soak: &Soak, switch: &PathBuf, to: &str) -> bool {
    let mark = soak.cluster.folder().join("cores").join(MARK);
    let _ = fs::write(&mark, to);
    let done = fs::write(switch, to);
    let _ = fs::write(mark, to);
    if let Err(why) = &done {
        eprintln!("berth-soak: {}: {why}", switch.display());
    }
    done.is_ok()
}
