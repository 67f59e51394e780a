//! The memory that the process has allocated, and a limit on what one hook may take on top. The program's own
//! `malloc` keeps the numbers; AddressSanitizer has its own, and then nobody counts.

use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering::Relaxed};

/// As much as a hook may take, at once and in sum.
pub const LIMIT: isize = 64 << 20;

/// Bytes that are allocated; a block from before the first count may make it too small.
static LIVE: AtomicIsize = AtomicIsize::new(0);
static PEAK: AtomicIsize = AtomicIsize::new(0);
/// `LIVE` may not come above it.
static MOST: AtomicIsize = AtomicIsize::new(isize::MAX);
/// The block that was refused; 0 for none.
static REFUSED: AtomicUsize = AtomicUsize::new(0);

/// Whether a block of so many bytes may be given. The first that is refused is remembered, and ends
/// the limit: there is a backtrace to be printed.
pub fn may_take(bytes: usize) -> bool {
    let most = MOST.load(Relaxed);
    let fits = most == isize::MAX
        || isize::try_from(bytes)
            .is_ok_and(|bytes| LIVE.load(Relaxed).saturating_add(bytes) <= most);
    if !fits {
        REFUSED.store(bytes, Relaxed);
        MOST.store(isize::MAX, Relaxed);
    }
    fits
}

/// A block was given.
pub fn took(bytes: usize) {
    let live = LIVE.fetch_add(bytes as isize, Relaxed) + bytes as isize;
    if MOST.load(Relaxed) != isize::MAX {
        PEAK.fetch_max(live, Relaxed);
    }
}

/// A block came back.
pub fn gave(bytes: usize) {
    LIVE.fetch_sub(bytes as isize, Relaxed);
}

/// The memory of a piece of work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Bytes at its worst moment; 0 where nobody counts.
    pub peak: u64,
    /// The block that it asked for and was refused.
    pub refused: Option<usize>,
}

/// Runs something under the limit.
pub fn limited<T>(work: impl FnOnce() -> T) -> (T, Usage) {
    let before = LIVE.load(Relaxed);
    PEAK.store(before, Relaxed);
    REFUSED.store(0, Relaxed);
    MOST.store(before.saturating_add(LIMIT), Relaxed);
    let done = work();
    MOST.store(isize::MAX, Relaxed);
    let usage = Usage {
        peak: (PEAK.load(Relaxed) - before).max(0) as u64,
        refused: Some(REFUSED.load(Relaxed)).filter(|bytes| *bytes > 0),
    };
    (done, usage)
}

/// Bytes that are allocated now; 0 where nobody counts.
#[must_use]
pub fn live() -> isize {
    LIVE.load(Relaxed)
}

/// How many descriptors are open.
#[must_use]
pub fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}
