//! A node's tasks between fork and exec: the others wait until the first one has written the files
//! that they all read. There is no wait beyond a second, whatever happens to the first task. They share one word of
//! memory, and the kernel's futex at it: a task that waits allocates nothing and takes no lock.

use std::io;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

/// Two small files are written in less than a millisecond, on a busy file server in less than a
/// second.
const PATIENCE_SECONDS: i64 = 1;
const WRITING: u32 = 0;
const DONE: u32 = 1;

/// The word that the tasks share.
pub(crate) struct FirstTask(&'static AtomicU32);

impl FirstTask {
    /// In the parent, before the first fork.
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: new memory at a place of the kernel's choice; nothing of ours is there.
        let page = unsafe {
            libc::mmap(
                ptr::null_mut(),
                size_of::<AtomicU32>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if page == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a page of zeros, which is `WRITING`, aligned, readable and writable, and never unmapped.
        Ok(Self(unsafe { &*page.cast::<AtomicU32>() }))
    }

    /// In the first task, whether or not it could write.
    pub(crate) fn done(&self) {
        self.0.store(DONE, Ordering::Release);
        // SAFETY: the word lives as long as the process; the kernel only wakes who waits at it.
        unsafe { libc::syscall(libc::SYS_futex, self.0.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
    }

    /// In the other tasks: waits, and returns whether the first one is done.
    pub(crate) fn wait(&self) -> bool {
        let mut end = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: the kernel fills the record that is passed.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut end) };
        end.tv_sec += PATIENCE_SECONDS;
        while !self.is_done() {
            // The end is a point in time: being woken early does not prolong it.
            // SAFETY: word and record live during the call, which only reads them.
            let code = unsafe {
                libc::syscall(
                    libc::SYS_futex,
                    self.0.as_ptr(),
                    libc::FUTEX_WAIT_BITSET,
                    WRITING,
                    &raw const end,
                    ptr::null::<u32>(),
                    libc::FUTEX_BITSET_MATCH_ANY,
                )
            };
            let errno = io::Error::last_os_error().raw_os_error();
            if code < 0 && !matches!(errno, Some(libc::EAGAIN | libc::EINTR)) {
                break;
            }
        }
        self.is_done()
    }

    fn is_done(&self) -> bool {
        self.0.load(Ordering::Acquire) == DONE
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn the_others_wait_for_it_and_not_for_ever() {
        let first = FirstTask::new().unwrap();
        let start = Instant::now();
        let calls = crate::site::count_allocations::during(|| assert!(!first.wait()));
        assert_eq!(calls, 0);
        assert!(
            start.elapsed() >= Duration::from_secs(1),
            "{:?}",
            start.elapsed()
        );
        thread::scope(|scope| {
            let waiting = scope.spawn(|| (first.wait(), Instant::now()));
            thread::sleep(Duration::from_millis(20));
            let before = Instant::now();
            first.done();
            let (done, after) = waiting.join().unwrap();
            assert!(done && after > before);
        });
        assert!(first.wait(), "it stays done");
    }
}
