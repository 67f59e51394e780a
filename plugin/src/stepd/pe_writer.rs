//! The first task of a node writes the files of [`crate::stepd::pe_texts`]: between fork and exec,
//! as the user, in the job's mount namespace, with system calls on texts that were prepared before
//! the fork. It allocates nothing, takes no lock and logs nothing. It makes a new folder with new
//! files, follows no link, and leaves alone whatever is in their place.

use std::ffi::{CStr, CString};
use std::fmt::{self, Write};
use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;

use berth_placement::sets::limits::PE_FILE;
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, OFlag, open, openat};
use nix::sys::stat::Mode;
use nix::unistd::{UnlinkatFlags, mkdir, unlinkat};

use crate::stepd::first_task::StackLine;
use crate::stepd::pe_texts::Texts;

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
    errno: Errno,
}

impl Failed {
    fn of(what: &'static str) -> impl Fn(Errno) -> Self {
        move |errno| Self { what, errno }
    }
}

impl Place {
    /// Makes the folder and both files; if one fails, nothing of ours is left.
    pub(crate) fn write(&self, texts: &Texts) -> Result<(), Failed> {
        self.make_folder()
            .map_err(Failed::of("making a new folder"))?;
        let path = self.folder.as_c_str();
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let folder = open(path, flags, Mode::empty()).map_err(Failed::of("opening the folder"))?;
        let hostfile = file(&folder, HOSTFILE, |to| texts.hostfile(to));
        let done = hostfile.and_then(|()| file(&folder, RANKFILE, |to| texts.rankfile(to)));
        if done.is_err() {
            // A file that is not there cannot be removed, and a folder that is not empty stays.
            for name in [HOSTFILE, RANKFILE] {
                let _ = unlinkat(&folder, name, UnlinkatFlags::NoRemoveDir);
            }
            let _ = unlinkat(AT_FDCWD, path, UnlinkatFlags::RemoveDir);
        }
        done
    }

    fn make_folder(&self) -> Result<(), Errno> {
        let make = |path: &CStr| mkdir(path, Mode::S_IRWXU);
        make(&self.folder).or_else(|errno| match errno {
            // Slurm makes a missing TMPDIR itself, for this very task, a moment later.
            Errno::ENOENT => {
                let made = make(&self.parent).and_then(|()| make(&self.folder));
                made.map_err(|_| errno)
            }
            _ => Err(errno),
        })
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
            failed.errno.desc(),
            failed.errno as i32,
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
    folder: &OwnedFd,
    name: &CStr,
    text: impl FnOnce(&mut Chunks) -> fmt::Result,
) -> Result<(), Failed> {
    let flags = OFlag::O_WRONLY
        | OFlag::O_CREAT
        | OFlag::O_EXCL
        | OFlag::O_NOFOLLOW
        | OFlag::O_NONBLOCK
        | OFlag::O_CLOEXEC;
    let file = openat(folder, name, flags, Mode::S_IRUSR | Mode::S_IWUSR);
    let mut to = Chunks {
        file: file.map_err(Failed::of("making a new file"))?.into(),
        bytes: [0; CHUNK],
        used: 0,
        left: PE_FILE,
        errno: Errno::EFBIG,
    };
    let written = text(&mut to).and_then(|()| to.flush());
    written.map_err(|_| Failed::of("writing a file")(to.errno))
}

/// Text on its way to a file.
struct Chunks {
    file: File,
    bytes: [u8; CHUNK],
    used: usize,
    /// Bytes left of the file's limit.
    left: usize,
    /// Why it failed, if it did.
    errno: Errno,
}

impl Chunks {
    fn flush(&mut self) -> fmt::Result {
        let text = self.bytes.get(..self.used).unwrap_or_default();
        self.used = 0;
        self.file.write_all(text).map_err(|why| {
            self.errno = Errno::from_raw(why.raw_os_error().unwrap_or_default());
            fmt::Error
        })
    }
}

impl Write for Chunks {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.left = self.left.checked_sub(text.len()).ok_or(fmt::Error)?;
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            if self.used == CHUNK {
                self.flush()?;
            }
            let mut room = self.bytes.get_mut(self.used..).unwrap_or_default();
            // A slice takes as much as it has room for.
            let count = room.write(rest).map_err(|_| fmt::Error)?;
            self.used += count;
            rest = rest.get(count..).unwrap_or_default();
        }
        Ok(())
    }
}
