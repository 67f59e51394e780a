//! One run: srun with its output in a file, the time that it takes, and how it ends. It has a process group of its own,
//! so Ctrl-C reaches berth alone, which then ends the step.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawnp};
use nix::sys::signal::{SigSet, Signal, killpg};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::stat::Mode;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use berth_answer::tune::TunedLine;

/// Signals to end a step, each with the milliseconds that srun then has for it; it cannot ignore the last one.
const GRACE: [(Signal, u64); 4] = [
    (Signal::SIGTERM, 3000),
    (Signal::SIGINT, 200),
    (Signal::SIGINT, 5000),
    (Signal::SIGKILL, 5000),
];

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// With an exit code; that of a shell for a signal.
    Code(i32),
    /// It took too long.
    TimedOut,
    /// The user or Slurm has asked berth to end.
    Interrupted,
}

/// Signals that end the measurement, and the end of a child.
pub(super) struct Signals(SignalFd);

impl Signals {
    /// From here on these signals end nothing by themselves.
    pub(super) fn new() -> nix::Result<Self> {
        let mut set = SigSet::empty();
        for signal in [
            Signal::SIGINT,
            Signal::SIGTERM,
            Signal::SIGHUP,
            Signal::SIGCHLD,
        ] {
            set.add(signal);
        }
        set.thread_block()?;
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        SignalFd::with_flags(&set, flags).map(Self)
    }

    /// Waits for a signal, at most so long. Returns whether one says that berth is to end.
    fn wait(&self, limit: Duration) -> nix::Result<bool> {
        let limit = PollTimeout::try_from(limit.as_millis() + 1).unwrap_or(PollTimeout::MAX);
        match poll(&mut [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)], limit) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(why) => return Err(why),
        }
        let mut ends = false;
        while let Some(found) = self.0.read_signal()? {
            ends |= found.ssi_signo != Signal::SIGCHLD as u32;
        }
        Ok(ends)
    }
}

/// Runs the line's srun with a program, until a time at most.
///
/// # Errors
/// srun does not start.
pub(super) fn run(
    line: &TunedLine,
    program: &[String],
    output: &File,
    signals: &Signals,
    limit: Duration,
) -> io::Result<(End, Duration)> {
    let begin = Instant::now();
    let pid = start(line, program, output)?;
    loop {
        if let Some(code) = ended(pid)? {
            return Ok((End::Code(code), begin.elapsed()));
        }
        let left = limit.saturating_sub(begin.elapsed());
        if signals.wait(left)? {
            stop(pid, signals)?;
            return Ok((End::Interrupted, begin.elapsed()));
        }
        if left.is_zero() {
            stop(pid, signals)?;
            return Ok((End::TimedOut, begin.elapsed()));
        }
    }
}

fn start(line: &TunedLine, program: &[String], output: &File) -> io::Result<Pid> {
    let words = [&line.srun]
        .into_iter()
        .chain(line.options())
        .chain(program);
    let words = words.map(|word| CString::new(word.as_str()));
    let words = words.collect::<Result<Vec<_>, _>>()?;
    let set = line.variables.iter().cloned();
    let is_set = |name: &str| {
        let mut all = line.variables.iter();
        all.any(|one| one.split_once('=').is_some_and(|(own, _)| own == name))
    };
    let others = std::env::vars_os().filter(|(name, _)| !name.to_str().is_some_and(is_set));
    let others = others.map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat());
    let set = set.map(String::into_bytes);
    let variables = others.chain(set).map(CString::new);
    let variables = variables.collect::<Result<Vec<_>, _>>()?;
    let mut files = PosixSpawnFileActions::init()?;
    files.add_open(0, "/dev/null", OFlag::O_RDONLY, Mode::empty())?;
    files.add_dup2(output.as_raw_fd(), 1)?;
    files.add_dup2(output.as_raw_fd(), 2)?;
    let mut attributes = PosixSpawnAttr::init()?;
    attributes.set_flags(
        PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK | PosixSpawnFlags::POSIX_SPAWN_SETPGROUP,
    )?;
    attributes.set_sigmask(&SigSet::empty())?;
    attributes.set_pgroup(Pid::from_raw(0))?;
    let srun = words.first().ok_or(io::ErrorKind::InvalidInput)?;
    Ok(posix_spawnp(srun, &files, &attributes, &words, &variables)?)
}

/// The exit code, once it has ended.
fn ended(pid: Pid) -> io::Result<Option<i32>> {
    Ok(match waitpid(pid, Some(WaitPidFlag::WNOHANG))? {
        WaitStatus::Exited(_, code) => Some(code),
        WaitStatus::Signaled(_, signal, _) => Some(128 + signal as i32),
        _ => None,
    })
}

/// Has srun end its step, and waits for that.
fn stop(pid: Pid, signals: &Signals) -> io::Result<()> {
    for (signal, wait) in GRACE {
        // It may have ended meanwhile.
        let _ = killpg(pid, signal);
        let by = Instant::now() + Duration::from_millis(wait);
        while Instant::now() < by {
            if ended(pid)?.is_some() {
                return Ok(());
            }
            signals.wait(by.saturating_duration_since(Instant::now()))?;
        }
    }
    Ok(())
}
