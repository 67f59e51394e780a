//! The first task of a node writes the files of [`crate::stepd::pe_texts`]: between fork and exec,
//! as the user, in the job's mount namespace, with system calls on texts that were prepared before
//! the fork. It allocates nothing, takes no lock and logs nothing. It makes a new folder with new
//! files, follows no link, and leaves alone whatever is in their place.

use std::ffi::{CStr, CString};
use std::fmt::{self, Write};
use std::io;

use berth_placement::sets::limits::PE_FILE;
use nix::errno::Errno;

use crate::stepd::pe_texts::Texts;
use crate::stepd::stack_line::StackLine;

/// Bytes that are written with one system call.
const CHUNK: usize = 4096;
/// Letters of a path in a message: its end names the job.
const SHOWN: usize = 200;

/// The place of the files.
pub(crate) struct Place {
    /// The job's temporary directory.
    pub parent: CString,
    /// A directory in it that must not exist yet.
    pub folder: CString,
}

pub(crate) const HOSTFILE: &CStr = c"pe_hostfile";
pub(crate) const RANKFILE: &CStr = c"rankfile";

/// The action that failed, and the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failed {
    what: &'static str,
    errno: i32,
}

impl Failed {
    fn last(what: &'static str) -> Self {
        let errno = io::Error::last_os_error().raw_os_error();
        Self {
            what,
            errno: errno.unwrap_or_default(),
        }
    }
}

impl Place {
    /// Makes the folder and both files; if one fails, nothing of ours is left.
    pub(crate) fn write(&self, texts: &Texts) -> Result<(), Failed> {
        self.make_folder()?;
        // SAFETY: the path is a C string.
        let folder = Fd::new(unsafe {
            libc::open(
                self.folder.as_ptr(),
                libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC,
            )
        });
        let folder = folder.ok_or_else(|| Failed::last("opening the folder"))?;
        let hostfile = file(&folder, HOSTFILE, |to| texts.hostfile(to));
        let done = hostfile.and_then(|()| file(&folder, RANKFILE, |to| texts.rankfile(to)));
        if done.is_err() {
            for name in [HOSTFILE, RANKFILE] {
                // SAFETY: the name is a C string. What is not there cannot be removed.
                unsafe { libc::unlinkat(folder.0, name.as_ptr(), 0) };
            }
            // SAFETY: the path is a C string. rmdir fails on a full folder.
            unsafe { libc::rmdir(self.folder.as_ptr()) };
        }
        done
    }

    fn make_folder(&self) -> Result<(), Failed> {
        // SAFETY: both paths are C strings.
        let make = |path: &CStr| unsafe { libc::mkdir(path.as_ptr(), 0o700) } == 0;
        if make(&self.folder) {
            return Ok(());
        }
        let failed = Failed::last("making a new folder");
        // Slurm makes a missing TMPDIR itself, for this very task, a moment later.
        if failed.errno == libc::ENOENT && make(&self.parent) && make(&self.folder) {
            return Ok(());
        }
        Err(failed)
    }

    /// The line that reports a failure to the user.
    pub(crate) fn complaint(&self, failed: Failed) -> StackLine {
        let mut line = StackLine::new();
        let _ = line.write_str(
            "berth: error: --binding=pe: the host file and the rank file are not written in ",
        );
        let _ = write_path(&mut line, self.folder.to_bytes());
        let _ = writeln!(
            line,
            ": {} failed: {} (error {}); see TMPDIR in the job's environment",
            failed.what,
            Errno::from_raw(failed.errno).desc(),
            failed.errno,
        );
        line
    }
}

/// The end of a path; every byte that is no letter, digit or sign of ASCII is shown as `?`.
fn write_path(to: &mut StackLine, path: &[u8]) -> fmt::Result {
    let from = path.len().saturating_sub(SHOWN);
    to.write_str(if from > 0 { "…" } else { "" })?;
    for byte in path.iter().skip(from) {
        to.write_char(if byte.is_ascii_graphic() {
            char::from(*byte)
        } else {
            '?'
        })?;
    }
    Ok(())
}

fn file(
    folder: &Fd,
    name: &CStr,
    text: impl FnOnce(&mut Chunks<'_>) -> fmt::Result,
) -> Result<(), Failed> {
    let flags = libc::O_WRONLY
        | libc::O_CREAT
        | libc::O_EXCL
        | libc::O_NOFOLLOW
        | libc::O_NONBLOCK
        | libc::O_CLOEXEC;
    // SAFETY: the name is a C string, and the folder is open.
    let file = Fd::new(unsafe { libc::openat(folder.0, name.as_ptr(), flags, 0o600) });
    let file = file.ok_or_else(|| Failed::last("making a new file"))?;
    let mut to = Chunks {
        file: &file,
        bytes: [0; CHUNK],
        used: 0,
        left: PE_FILE,
        errno: libc::EFBIG,
    };
    text(&mut to).and_then(|()| to.flush()).map_err(|_| Failed {
        what: "writing a file",
        errno: to.errno,
    })
}

/// Text on its way to a file.
struct Chunks<'a> {
    file: &'a Fd,
    bytes: [u8; CHUNK],
    used: usize,
    /// Bytes left of the file's limit.
    left: usize,
    /// Why it failed, if it did.
    errno: i32,
}

impl Chunks<'_> {
    fn flush(&mut self) -> fmt::Result {
        let mut rest = self.bytes.get(..self.used).unwrap_or_default();
        while !rest.is_empty() {
            // SAFETY: the kernel reads as many bytes as there are.
            let written = unsafe { libc::write(self.file.0, rest.as_ptr().cast(), rest.len()) };
            match usize::try_from(written) {
                Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                Err(_) => {
                    let errno = io::Error::last_os_error()
                        .raw_os_error()
                        .unwrap_or_default();
                    if errno != libc::EINTR {
                        self.errno = errno;
                        return Err(fmt::Error);
                    }
                }
            }
        }
        self.used = 0;
        Ok(())
    }
}

impl Write for Chunks<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.left = self.left.checked_sub(text.len()).ok_or(fmt::Error)?;
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            if self.used == CHUNK {
                self.flush()?;
            }
            let room = self.bytes.get_mut(self.used..).unwrap_or_default();
            let now = rest.len().min(room.len());
            let (head, tail) = rest.split_at_checked(now).unwrap_or_default();
            room.iter_mut()
                .zip(head)
                .for_each(|(place, byte)| *place = *byte);
            self.used += now;
            rest = tail;
        }
        Ok(())
    }
}

/// An open file, closed when it is dropped.
struct Fd(libc::c_int);

impl Fd {
    fn new(found: libc::c_int) -> Option<Self> {
        // None is made for a file that was not opened: dropping it would change errno.
        if found >= 0 { Some(Self(found)) } else { None }
    }
}

impl Drop for Fd {
    fn drop(&mut self) {
        // SAFETY: ours, and not used again.
        unsafe { libc::close(self.0) };
    }
}
