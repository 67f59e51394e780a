//! One run: srun with its output in a file, the time that it takes, and how it ends. It has a process group of its own,
//! so Ctrl-C reaches berth alone, which then ends the step.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level::pipe};

use berth_answer::tune::TunedLine;

use crate::child::code;

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
pub(super) struct Signals {
    /// Whether berth is to end.
    ends: Arc<AtomicBool>,
    /// A byte for each signal.
    wakeups: UnixStream,
}

impl Signals {
    /// From here on these signals end nothing by themselves.
    pub(super) fn new() -> io::Result<Self> {
        let ends = Arc::new(AtomicBool::new(false));
        let (wakeups, sender) = UnixStream::pair()?;
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            flag::register(signal, Arc::clone(&ends))?;
            pipe::register(signal, sender.try_clone()?)?;
        }
        pipe::register(SIGCHLD, sender)?;
        Ok(Self { ends, wakeups })
    }

    /// Waits for a signal, at most so long. Returns whether one says that berth is to end.
    fn wait(&self, limit: Duration) -> io::Result<bool> {
        // A socket has no time limit of zero.
        let limit = limit.max(Duration::from_millis(1));
        self.wakeups.set_read_timeout(Some(limit))?;
        match (&self.wakeups).read(&mut [0; 64]) {
            Err(why) if !matches!(why.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                Err(why)
            }
            _ => Ok(self.ends.swap(false, Ordering::Relaxed)),
        }
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
    let mut child = start(line, program, output)?;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok((End::Code(code(status)), begin.elapsed()));
        }
        let left = limit.saturating_sub(begin.elapsed());
        if signals.wait(left)? {
            stop(&mut child, signals)?;
            return Ok((End::Interrupted, begin.elapsed()));
        }
        if left.is_zero() {
            stop(&mut child, signals)?;
            return Ok((End::TimedOut, begin.elapsed()));
        }
    }
}

fn start(line: &TunedLine, program: &[String], output: &File) -> io::Result<Child> {
    let set = line.variables.iter().filter_map(|one| one.split_once('='));
    Command::new(&line.srun)
        .args(line.options())
        .args(program)
        .envs(set)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output.try_clone()?)
        .spawn()
}

/// Has srun end its step, and waits for that.
fn stop(child: &mut Child, signals: &Signals) -> io::Result<()> {
    let group = Pid::from_raw(child.id().cast_signed());
    for (signal, wait) in GRACE {
        // It may have ended meanwhile.
        let _ = killpg(group, signal);
        let by = Instant::now() + Duration::from_millis(wait);
        while Instant::now() < by {
            if child.try_wait()?.is_some() {
                return Ok(());
            }
            signals.wait(by.saturating_duration_since(Instant::now()))?;
        }
    }
    Ok(())
}
