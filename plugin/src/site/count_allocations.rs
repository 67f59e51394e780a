//! Counts this thread's calls of the allocator, in unit tests only: what a task runs
//! between fork and exec must not make one.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

thread_local! {
    static CALLS: Cell<u32> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.set(CALLS.get() + 1);
        // SAFETY: the caller's promise, passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        CALLS.set(CALLS.get() + 1);
        // SAFETY: the caller's promise, passed on.
        unsafe { System.dealloc(block, layout) }
    }
}

/// The number of times that this thread allocates or frees while `work` runs.
pub(crate) fn during(work: impl FnOnce()) -> u32 {
    let before = CALLS.get();
    work();
    CALLS.get() - before
}
