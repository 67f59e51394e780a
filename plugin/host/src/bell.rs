//! Wakes a thread that waits for a descriptor (eventfd(2)).

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// A bell that one thread rings and another hears. Once rung it stays so.
#[derive(Debug)]
pub struct Bell(OwnedFd);

/// Why a waiting thread was woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// The bell rang.
    Rung,
    /// The descriptor has news.
    News,
    /// The time is over, or a signal came.
    Later,
}

impl Bell {
    /// A new bell.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn new() -> io::Result<Self> {
        // SAFETY: eventfd(2) takes two numbers and touches no memory of ours.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just given it to us, and nobody else knows it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Rings it.
    pub fn ring(&self) {
        let one = 1_u64.to_ne_bytes();
        // SAFETY: `one` is ours and of eight bytes, which write(2) only reads. A full counter is rung already.
        let _ = unsafe { libc::write(self.0.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }

    /// Waits for the bell, for `POLLPRI` of another descriptor, or for so many milliseconds.
    ///
    /// # Errors
    /// The kernel's answer, but for a signal.
    pub fn wait(&self, other: impl AsFd, milliseconds: u16) -> io::Result<Woken> {
        let mut both = [
            PollFd::new(self.0.as_fd(), PollFlags::POLLIN),
            PollFd::new(other.as_fd(), PollFlags::POLLPRI),
        ];
        match poll(&mut both, PollTimeout::from(milliseconds)) {
            Ok(0) | Err(Errno::EINTR) => return Ok(Woken::Later),
            Ok(_) => {}
            Err(why) => return Err(why.into()),
        }
        let [bell, other] = both.map(|one| one.any() == Some(true));
        Ok(match (bell, other) {
            (true, _) => Woken::Rung,
            (false, true) => Woken::News,
            (false, false) => Woken::Later,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bell_that_was_rung_is_heard() {
        let (bell, silent) = (Bell::new().unwrap(), Bell::new().unwrap());
        assert_eq!(bell.wait(&silent.0, 1).unwrap(), Woken::Later);
        bell.ring();
        assert_eq!(bell.wait(&silent.0, 60_000).unwrap(), Woken::Rung);
        assert_eq!(bell.wait(&silent.0, 60_000).unwrap(), Woken::Rung);
    }
}
