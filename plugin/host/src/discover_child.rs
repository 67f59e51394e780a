//! Lets the command discover the machine, as a child with a time limit: whatever
//! hwloc does on broken firmware, slurmd neither hangs nor crashes.
//! In: the command, the file to write, a limit. Out: the file, or an error.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use thiserror::Error;

use crate::spawn;
use crate::trust::{self, TrustError};

/// Time that discovery gets. It takes milliseconds, or seconds on the largest hosts.
pub const DEFAULT_LIMIT: Duration = Duration::from_secs(30);

/// Time that slurmd's start waits for it; then it goes on in the background.
pub const LIMIT_AT_START: Duration = Duration::from_millis(1500);

/// Time that a killed child gets to disappear; a child that is stuck in the kernel never does.
const AFTER_KILL: Duration = Duration::from_millis(500);

/// Longest time between two looks at the child, in milliseconds.
const LOOK_EVERY: u16 = 50;

/// Bytes that are kept of the child's output; the rest is read and dropped.
const OUTPUT_BYTES: usize = 4096;

/// A machine that the command could not discover.
#[derive(Debug, Error)]
pub enum ChildError {
    /// The command does not exist.
    #[error("the command {0} is not there; install it, or set command= in plugstack.conf")]
    NotFound(PathBuf),
    /// A user could have written the command, and it would run with our rights.
    #[error("the command must not be run: {0}; or set command= in plugstack.conf to one of root's")]
    Untrusted(#[from] TrustError),
    /// The kernel did not start it.
    #[error(
        "the command {command} could not be started: {why}; try it by hand: {command} \
         discover; or set command= in plugstack.conf"
    )]
    Start {
        /// The command.
        command: PathBuf,
        /// The system's error.
        why: io::Error,
    },
    /// It was killed after its time.
    #[error(
        "{command} discover took more than {} s and was killed{first_line}; try it by hand, \
         and see whether lstopo hangs too; or set command= in plugstack.conf", limit.as_secs_f32()
    )]
    TimedOut {
        /// The command.
        command: PathBuf,
        /// The limit.
        limit: Duration,
        /// Its first line on stderr, as `: "…"`, or nothing.
        first_line: String,
    },
    /// It ended with a failure.
    #[error(
        "{command} discover {ended}{first_line}; try it by hand; or set command= in plugstack.conf"
    )]
    Failed {
        /// The command.
        command: PathBuf,
        /// How it ended: `exited with status 1`.
        ended: String,
        /// Its first line on stderr, as `: "…"`, or nothing.
        first_line: String,
    },
    /// It ended without an error, but wrote nothing.
    #[error(
        "{command} discover ended, but wrote no {output}{first_line}; see whether it is berth's \
         command (berth --version) and set command= in plugstack.conf"
    )]
    NoFile {
        /// The command.
        command: PathBuf,
        /// The file that it had to write.
        output: PathBuf,
        /// Its first line on stderr, as `: "…"`, or nothing.
        first_line: String,
    },
}

/// How a child ended, as far as that is known.
enum End {
    Status(WaitStatus),
    /// Somebody else waited for it, or SIGCHLD is ignored: only the file shows the result.
    Unknown,
}

/// A discovery that was started. Where the holder drops it, it goes on, and writes its file in its own time.
#[derive(Debug)]
pub struct Discovery {
    command: PathBuf,
    output: PathBuf,
    /// The file as it was before.
    before: Option<(u64, i64, i64)>,
    pid: Pid,
    stderr: Option<File>,
    printed: Vec<u8>,
}

impl Discovery {
    /// Starts `COMMAND discover --output OUTPUT`.
    ///
    /// The child has a clean environment (`PATH`, `HWLOC_…`), no input, default
    /// signals and a process group of its own. The machine file's directory must be there.
    ///
    /// # Errors
    /// [`ChildError`]; each text names what to do.
    pub fn start(command: &Path, output: &Path) -> Result<Self, ChildError> {
        check(command)?;
        let before = stamp(output);
        let arguments = [
            OsStr::new("discover"),
            OsStr::new("--output"),
            output.as_os_str(),
        ];
        let child = spawn::spawn(command, &arguments).map_err(|why| ChildError::Start {
            command: command.into(),
            why,
        })?;
        Ok(Self {
            command: command.into(),
            output: output.into(),
            before,
            pid: child.pid,
            stderr: Some(File::from(child.stderr)),
            printed: Vec::new(),
        })
    }

    /// How it ended, or nothing if it still runs after this time. Only this child is waited for.
    pub fn wait(&mut self, limit: Duration) -> Option<Result<(), ChildError>> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(end) = ended(self.pid) {
                drain(&mut self.stderr, &mut self.printed);
                return Some(self.judge(end));
            }
            if Instant::now() >= deadline {
                return None;
            }
            listen(&mut self.stderr, &mut self.printed, LOOK_EVERY);
        }
    }

    /// Waits at most this time, and then kills it with all that it has started.
    ///
    /// # Errors
    /// [`ChildError`]; each text names what to do.
    pub fn finish(mut self, limit: Duration) -> Result<(), ChildError> {
        if let Some(result) = self.wait(limit) {
            return result;
        }
        // Nobody has waited for it yet, so the number still belongs to this child and its group.
        let _ = killpg(self.pid, Signal::SIGKILL);
        // Its end by the signal is no result.
        let _ = self.wait(AFTER_KILL);
        drain(&mut self.stderr, &mut self.printed);
        Err(ChildError::TimedOut {
            first_line: first_line(&self.printed),
            command: self.command,
            limit,
        })
    }

    fn judge(&self, end: End) -> Result<(), ChildError> {
        let command = self.command.clone();
        let first_line = first_line(&self.printed);
        match end {
            End::Status(status) if !matches!(status, WaitStatus::Exited(_, 0)) => {
                Err(ChildError::Failed {
                    command,
                    ended: in_words(status),
                    first_line,
                })
            }
            _ if stamp(&self.output).is_none_or(|after| Some(after) == self.before) => {
                Err(ChildError::NoFile {
                    command,
                    output: self.output.clone(),
                    first_line,
                })
            }
            _ => Ok(()),
        }
    }
}

/// A command that a user could have written, or can exchange, must not run as root. A link is
/// followed to its end; every folder above that end must be trusted, and every folder above the
/// link too.
fn check(command: &Path) -> Result<(), ChildError> {
    let unknown = |why: io::Error| match why.kind() {
        io::ErrorKind::NotFound => ChildError::NotFound(command.into()),
        _ => ChildError::Start {
            command: command.into(),
            why,
        },
    };
    trust::check_file(command, &fs::metadata(command).map_err(unknown)?)?;
    trust::check_ancestors(command)?;
    let real = fs::canonicalize(command).map_err(unknown)?;
    Ok(trust::check_ancestors(&real)?)
}

/// Distinguishes one version of the file from the next, because it is always replaced as a whole.
fn stamp(output: &Path) -> Option<(u64, i64, i64)> {
    let found = fs::symlink_metadata(output).ok()?;
    Some((found.ino(), found.ctime(), found.ctime_nsec()))
}

/// Looks, without waiting, whether this very child has ended; then it is reaped.
fn ended(pid: Pid) -> Option<End> {
    match waitpid(pid, Some(WaitPidFlag::WNOHANG)) {
        Ok(WaitStatus::StillAlive) | Err(Errno::EINTR) => None,
        Ok(status) => Some(End::Status(status)),
        Err(_) => Some(End::Unknown),
    }
}

/// Waits a moment for output of the child, or for the next look at it.
fn listen(stderr: &mut Option<File>, printed: &mut Vec<u8>, milliseconds: u16) {
    let Some(file) = stderr else {
        thread::sleep(Duration::from_millis(2));
        return;
    };
    if is_readable(file, milliseconds) && !read_some(file, printed) {
        *stderr = None;
    }
}

/// Reads the rest of the pipe; a grandchild may hold it open, so this does not wait.
fn drain(stderr: &mut Option<File>, printed: &mut Vec<u8>) {
    let Some(file) = stderr else { return };
    while printed.len() < OUTPUT_BYTES && is_readable(file, 0) && read_some(file, printed) {}
}

fn is_readable(file: &File, milliseconds: u16) -> bool {
    let mut waiting = [PollFd::new(file.as_fd(), PollFlags::POLLIN)];
    poll(&mut waiting, PollTimeout::from(milliseconds)).is_ok_and(|ready| ready > 0)
}

/// Reads once; `false` at the end of the pipe.
fn read_some(file: &mut File, printed: &mut Vec<u8>) -> bool {
    let mut buffer = [0; 1024];
    match file.read(&mut buffer) {
        Ok(0) => false,
        Ok(length) => {
            let room = OUTPUT_BYTES.saturating_sub(printed.len());
            printed.extend(buffer.iter().take(length.min(room)));
            true
        }
        Err(why) => why.kind() == io::ErrorKind::Interrupted,
    }
}

fn in_words(status: WaitStatus) -> String {
    match status {
        WaitStatus::Exited(_, code) => format!("exited with status {code}"),
        WaitStatus::Signaled(_, signal, _) => format!("was killed by {signal}"),
        other => format!("ended oddly ({other:?})"),
    }
}

/// The first line that is not empty, made harmless for a log.
fn first_line(printed: &[u8]) -> String {
    let text = String::from_utf8_lossy(printed);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    line.map_or(String::new(), |line| {
        let plain: String = line
            .chars()
            .map(|letter| if letter.is_control() { ' ' } else { letter })
            .take(300)
            .collect();
        format!(": \"{plain}\"")
    })
}
