//! Starts one program as slurmd must start it: with a clean environment, no input, its
//! error output in a pipe, default signals, and a process group of its own.
//! In: path and arguments. Out: its process id and the pipe's reading end.
//! A child of slurmd has files by accident: slurmd makes the pipes to its slurmstepds without close-on-exec
//! (`_forkexec_slurmstepd`) and closes them in its own children; in ours they would keep a launch waiting for the end
//! of a slurmstepd that has died. So they are closed here.

use std::ffi::{CString, OsStr, OsString};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::{fs, io};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawn};
use nix::sys::signal::SigSet;
use nix::sys::stat::Mode;
use nix::unistd::{Pid, pipe2};

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
        .chain([(CLOSE_INHERITED.into(), "1".into())])
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

/// The variable that tells the child to close them. An older command does not know it and keeps them.
const CLOSE_INHERITED: &str = "BERTH_CLOSE_INHERITED";
/// In seconds: longer than slurmd ever waits for a program.
const LONGEST_LIFE: u32 = 60;
/// The first one after input, output and error output.
const FIRST: RawFd = 3;

/// Closes all files but the first three, and ends this program after a minute, if slurmd has started it: slurmd may
/// not wait for its end. To be called before the program opens anything.
pub fn begin_as_child() {
    if std::env::var_os(CLOSE_INHERITED).is_none() {
        return;
    }
    // SAFETY: it sets a timer of this process alone, whose signal has its default effect.
    unsafe { libc::alarm(LONGEST_LIFE) };
    // SAFETY: nothing of this process is open yet, as the caller promises, so no owner loses a file.
    let done = unsafe { libc::syscall(libc::SYS_close_range, FIRST, u32::MAX, 0) };
    if done != 0 {
        close_each();
    }
}

/// For kernels before 5.9.
fn close_each() {
    let Ok(listed) = fs::read_dir("/proc/self/fd") else {
        return;
    };
    let number = |name: std::ffi::OsString| name.to_str()?.parse::<RawFd>().ok();
    // The folder itself is closed by then, and its number may be closed once more.
    let open: Vec<RawFd> = listed
        .flatten()
        .filter_map(|one| number(one.file_name()))
        .collect();
    for file in open.into_iter().filter(|file| *file >= FIRST) {
        // SAFETY: as above.
        unsafe { libc::close(file) };
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Fails in another process if a file that it has inherited stays open, or if it may live for ever.
    #[test]
    fn in_a_child() {
        let ways: [(&str, fn()); 2] = [("close", begin_as_child), ("each", close_each)];
        let requested = std::env::var("BERTH_TEST_WAY");
        if let Some((_, way)) = ways
            .iter()
            .find(|(name, _)| requested.as_deref() == Ok(name))
        {
            way();
            // SAFETY: it asks about a number.
            let is_open = unsafe { libc::fcntl(9, libc::F_GETFD) } >= 0;
            assert!(!is_open);
            // SAFETY: it ends a timer of this process.
            let is_limited = unsafe { libc::alarm(0) } > 0;
            assert_eq!(is_limited, requested.as_deref() == Ok("close"));
        }
    }

    #[test]
    fn slurmds_pipes_are_closed_and_nobody_elses() {
        let program = std::env::current_exe().unwrap();
        let ends = |way: &str, variable: Option<&str>| {
            let mut child = Command::new("sh");
            let line = "exec \"$0\" --exact spawn::tests::in_a_child --nocapture 9</dev/null";
            child
                .args(["-c", line])
                .arg(&program)
                .env("BERTH_TEST_WAY", way);
            child
                .env_remove(CLOSE_INHERITED)
                .envs(variable.map(|name| (name, "1")));
            child.output().unwrap().status.code()
        };
        assert_eq!(ends("close", Some(CLOSE_INHERITED)), Some(0));
        assert_eq!(ends("each", Some(CLOSE_INHERITED)), Some(0));
        assert_eq!(ends("close", None), Some(101), "a user's own");
    }
}
