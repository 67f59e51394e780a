//! One word of memory that slurmstepd shares with its tasks between fork and exec, and the kernel's futex at it.
//! A task that waits allocates nothing and takes no lock.

use std::io;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

/// The word.
pub(crate) struct SharedWord(&'static AtomicU32);

impl SharedWord {
    /// The parent makes it before the first fork. Its first value is 0.
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
        // SAFETY: a page of zeros, aligned, readable and writable, and never unmapped.
        Ok(Self(unsafe { &*page.cast::<AtomicU32>() }))
    }

    /// What it is.
    pub(crate) fn get(&self) -> u32 {
        self.0.load(Ordering::Acquire)
    }

    /// Changes it, and wakes who waits for that.
    pub(crate) fn set(&self, value: u32) {
        self.0.store(value, Ordering::Release);
        // SAFETY: the word lives as long as the process; the kernel only wakes who waits at it.
        unsafe { libc::syscall(libc::SYS_futex, self.0.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
    }

    /// Waits as long as it has this value, and no longer than so many seconds. Returns what it is then.
    pub(crate) fn wait(&self, value: u32, seconds: i64) -> u32 {
        let mut end = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: the kernel fills the record that is passed.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut end) };
        end.tv_sec += seconds;
        while self.get() == value {
            // The end is a point in time: being woken early does not prolong it.
            // SAFETY: word and record live during the call, which only reads them.
            let code = unsafe {
                libc::syscall(
                    libc::SYS_futex,
                    self.0.as_ptr(),
                    libc::FUTEX_WAIT_BITSET,
                    value,
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
        self.get()
    }
}
