//! A child with bounds: no input, a time limit, and no more output than it can rightly have.

use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// The time that a killed child gets to disappear.
const AFTER_KILL: Duration = Duration::from_secs(1);

/// Why a child has no output.
pub(crate) enum Trouble {
    Start(io::Error),
    /// It did not end in time.
    Slow,
    Failed(ExitStatus),
    /// It printed more than it can rightly have.
    Long,
}

/// The output of a command, without input, within a time and a number of bytes.
pub(crate) fn run(command: &mut Command, most: u64, limit: Duration) -> Result<Vec<u8>, Trouble> {
    let deadline = Instant::now() + limit;
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command
        .stderr(Stdio::null())
        .spawn()
        .map_err(Trouble::Start)?;
    let pipe = child.stdout.take();
    let (sender, receiver) = mpsc::channel();
    // Not in this thread: a pipe may stay open when the child has ended.
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.map(|pipe| pipe.take(most + 1).read_to_end(&mut bytes));
        // Nobody listens any more if the time was up.
        let _ = sender.send(bytes);
    });
    let answer = receiver.recv_timeout(limit);
    let is_long = answer.as_ref().is_ok_and(|bytes| bytes.len() as u64 > most);
    let ended = match is_long {
        true => None,
        false => wait(&mut child, deadline),
    };
    if ended.is_none() {
        // One that is stuck in the kernel cannot be ended, and is not waited for.
        let _ = child.kill();
        wait(&mut child, Instant::now() + AFTER_KILL);
    }
    match (answer, ended) {
        _ if is_long => Err(Trouble::Long),
        (Ok(bytes), Some(status)) if status.success() => Ok(bytes),
        (Ok(_), Some(status)) => Err(Trouble::Failed(status)),
        _ => Err(Trouble::Slow),
    }
}

fn wait(child: &mut Child, deadline: Instant) -> Option<ExitStatus> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < deadline => thread::sleep(Duration::from_millis(2)),
            Ok(None) | Err(_) => return None,
        }
    }
}

/// The exit code of a program as a shell has it: 128 and the signal's number for one that a signal has ended.
pub(crate) fn code(status: ExitStatus) -> i32 {
    let signal = status.signal().map(|signal| 128 + signal);
    status.code().or(signal).unwrap_or(1)
}
