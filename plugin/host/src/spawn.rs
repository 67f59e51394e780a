//! Starts one program as slurmd must start it: with a clean environment, no input, its
//! error output in a pipe, default signals, and a process group of its own.
//! In: path and arguments. Out: its process id and the pipe's reading end.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawn};
use nix::sys::signal::SigSet;
use nix::sys::stat::Mode;
use nix::unistd::{Pid, pipe2};

use crate::inherited;

/// A running program; the holder of this value must wait for it.
#[derive(Debug)]
pub(crate) struct Child {
    pub(crate) pid: Pid,
    pub(crate) stderr: OwnedFd,
}

/// Starts it with `posix_spawn`: no code of ours runs between fork and exec, and
/// slurmd's own fork handlers and memory stay out of it.
pub(crate) fn spawn(program: &Path, arguments: &[&OsStr]) -> io::Result<Child> {
    let path = c_string(program.as_os_str())?;
    let mut argv = vec![path.clone()];
    for argument in arguments {
        argv.push(c_string(argument)?);
    }
    let (reading, writing) = pipe2(OFlag::O_CLOEXEC)?;
    let files = file_actions(&writing)?;
    let pid = posix_spawn(
        path.as_c_str(),
        &files,
        &attributes()?,
        &argv,
        &environment(),
    )?;
    Ok(Child {
        pid,
        stderr: reading,
    })
}

fn file_actions(stderr: &OwnedFd) -> Result<PosixSpawnFileActions, Errno> {
    let mut files = PosixSpawnFileActions::init()?;
    files.add_open(
        libc::STDIN_FILENO,
        "/dev/null",
        OFlag::O_RDONLY,
        Mode::empty(),
    )?;
    files.add_open(
        libc::STDOUT_FILENO,
        "/dev/null",
        OFlag::O_WRONLY,
        Mode::empty(),
    )?;
    files.add_dup2(stderr.as_raw_fd(), libc::STDERR_FILENO)?;
    Ok(files)
}

/// slurmd blocks signals in its threads and ignores some. A child would inherit
/// that, and signals could not end it.
fn attributes() -> Result<PosixSpawnAttr, Errno> {
    let mut attributes = PosixSpawnAttr::init()?;
    attributes.set_flags(
        PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK
            | PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF
            | PosixSpawnFlags::POSIX_SPAWN_SETPGROUP,
    )?;
    attributes.set_sigmask(&SigSet::empty())?;
    attributes.set_sigdefault(&SigSet::all())?;
    attributes.set_pgroup(Pid::from_raw(0))?;
    Ok(attributes)
}

/// The child's environment: only `PATH` and hwloc's variables, which change what is discovered, and that it has slurmd's
/// files by accident.
fn environment() -> Vec<CString> {
    std::env::vars_os()
        .filter(|(name, _)| name == "PATH" || name.as_bytes().starts_with(b"HWLOC_"))
        .chain([(inherited::VARIABLE.into(), "1".into())])
        .filter_map(|(name, value)| {
            let mut entry: OsString = name;
            entry.push("=");
            entry.push(value);
            CString::new(entry.into_vec()).ok()
        })
        .collect()
}

fn c_string(text: &OsStr) -> io::Result<CString> {
    CString::new(text.as_bytes()).map_err(io::Error::other)
}
