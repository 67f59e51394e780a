//! Locks on single bytes of a file that only root can open. The kernel releases them when the
//! process ends, however it ends. They are open-file-description locks, which are not lost when
//! another descriptor of the same process is closed.

use std::fs::File;
use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, fcntl};

/// The time until the next try: the holder only reads and writes some pages.
const PAUSE: Duration = Duration::from_micros(100);

/// A byte of a file, locked until this is dropped.
#[derive(Debug)]
pub(crate) struct Locked<'a> {
    file: &'a File,
    byte: u64,
}

/// Locks a byte, and waits no longer than `patience`; `None` if another process keeps it.
pub(crate) fn wait(file: &File, byte: u64, patience: Duration) -> io::Result<Option<Locked<'_>>> {
    let end = Instant::now() + patience;
    loop {
        match set(file, byte, libc::F_WRLCK) {
            Ok(()) => return Ok(Some(Locked { file, byte })),
            Err(why) if held(&why) && Instant::now() < end => sleep(PAUSE),
            Err(why) if held(&why) => return Ok(None),
            Err(why) => return Err(why),
        }
    }
}

fn held(why: &io::Error) -> bool {
    matches!(why.raw_os_error(), Some(libc::EAGAIN | libc::EACCES))
}

/// Locks a byte together with others who share it, until the file is closed.
///
/// # Errors
/// Another process has it for itself, or the file cannot be locked.
pub(crate) fn share(file: &File, byte: u64) -> io::Result<()> {
    set(file, byte, libc::F_RDLCK)
}

/// Locks a byte until the file is closed; no if another process has it.
///
/// # Errors
/// The file cannot be locked.
pub(crate) fn own(file: &File, byte: u64) -> io::Result<bool> {
    match set(file, byte, libc::F_WRLCK) {
        Err(why) if held(&why) => Ok(false),
        locked => locked.map(|()| true),
    }
}

/// Whether another open file has a lock on this byte.
///
/// # Errors
/// The kernel does not answer.
pub(crate) fn is_held(file: &File, byte: u64) -> io::Result<bool> {
    let mut requested = wish(byte, libc::F_WRLCK);
    fcntl(file, FcntlArg::F_OFD_GETLK(&mut requested))?;
    Ok(i32::from(requested.l_type) != libc::F_UNLCK)
}

fn wish(byte: u64, kind: i32) -> libc::flock {
    libc::flock {
        l_type: kind as i16,
        l_whence: libc::SEEK_SET as i16,
        l_start: byte as i64,
        l_len: 1,
        l_pid: 0,
    }
}

fn set(file: &File, byte: u64, kind: i32) -> io::Result<()> {
    fcntl(file, FcntlArg::F_OFD_SETLK(&wish(byte, kind)))?;
    Ok(())
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // The kernel has no reason to refuse, and closing the file would do the same.
        let _ = set(self.file, self.byte, libc::F_UNLCK);
    }
}
