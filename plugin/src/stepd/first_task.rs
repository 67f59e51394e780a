//! A node's tasks between fork and exec: the others wait until the first one has written the files that they all read.
//! There is no wait beyond a second, whatever happens to the first task. They share one word of memory, and the kernel's
//! futex at it: a task that waits allocates nothing and takes no lock. Its words are a line of text that needs no allocator:
//! it is written with one system call; what does not fit is cut, and the line still ends.

use std::sync::atomic::{AtomicU32, Ordering};
use std::{fmt, io, ptr};

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

/// Room for a host name, the words of a report and a mask of some thousand nodes.
const SIZE: usize = 1536;

/// One line under construction.
pub(crate) struct StackLine {
    bytes: [u8; SIZE],
    used: usize,
}

impl StackLine {
    pub(crate) fn new() -> Self {
        Self {
            bytes: [0; SIZE],
            used: 0,
        }
    }

    pub(crate) fn text(&self) -> &[u8] {
        self.bytes.get(..self.used).unwrap_or_default()
    }

    /// Writes it to stderr, which is the job's by now.
    pub(crate) fn send(&self) {
        // A short or failed write loses a report, nothing else.
        let _ = nix::unistd::write(io::stderr(), self.text());
    }
}

impl fmt::Write for StackLine {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut room = self.bytes.get_mut(self.used..).unwrap_or_default();
        // A slice takes as much as it has room for.
        self.used += io::Write::write(&mut room, text.as_bytes()).unwrap_or_default();
        if self.used == SIZE
            && let Some(last) = self.bytes.last_mut()
        {
            *last = b'\n';
        }
        Ok(())
    }
}

/// Shows words as one number in small hexadecimal digits; the lowest word comes first in the slice.
pub(crate) struct Hex<'a>(pub &'a [u64]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = self.0.iter().rev().skip_while(|word| **word == 0);
        write!(f, "{:x}", words.next().unwrap_or(&0))?;
        words.try_for_each(|word| write!(f, "{word:016x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;
    use std::thread;
    use std::time::{Duration, Instant};

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

    #[test]
    fn words_are_one_number() {
        for (words, text) in [
            (&[][..], "0"),
            (&[0, 0], "0"),
            (&[0xc], "c"),
            (&[1, 0x2f, 0], "2f0000000000000001"),
        ] {
            assert_eq!(Hex(words).to_string(), text);
        }
    }

    #[test]
    fn too_long_a_line_is_cut_and_ends() {
        let mut line = StackLine::new();
        let long = "x".repeat(SIZE - 1);
        let _ = writeln!(line, "{long}");
        assert_eq!(line.text().len(), SIZE);
        let _ = writeln!(line, "more");
        assert_eq!(line.text().len(), SIZE);
        assert_eq!(line.text().last(), Some(&b'\n'));
        assert_eq!(line.text().iter().filter(|byte| **byte == b'\n').count(), 1);
    }
}
