//! Texts for the user on the job's stderr, which slurmstepd has joined by then: notes, and why a step is not started.
//! The user chooses the file: a full pipe that nobody reads must not stop slurmstepd, which is root and has tasks to
//! start. (Slurm's own log also checks before it writes there: `_fd_writeable`.)
//!
//! srun shows what every task writes, so a refusal is written once on each node, at its first task: in full on the
//! step's first node, and in short on the others, whose cores may be taken by other steps.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, FromRawFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{MsgFlags, send};

use crate::stepd::state::STATE;

/// The time that one text may wait for its reader; after that, nothing more is written.
const PATIENCE: Duration = Duration::from_millis(500);
/// The kernel's name for this process's stderr, to open it once more without waiting.
const STDERR: &str = "/proc/self/fd/2";

/// Writes to the job's stderr. Text that its reader does not take in time is lost, but nothing else.
///
/// The time for a regular file has no bound: the kernel writes to none without waiting, and a thread that is left
/// behind in the kernel would stop Slurm's next change of its user, in which all threads take part. Slurm's own messages
/// go to the same file. Therefore whoever calls this holds no lock.
pub(crate) fn to_user(text: &str) {
    if STATE.nobody_reads.load(Ordering::Relaxed) {
        return;
    }
    if let Err(why) = write(text.as_bytes()) {
        STATE.nobody_reads.store(true, Ordering::Relaxed);
        log::debug!("the job's stderr cannot be written: {why}");
    }
}

/// Writes to the job's stderr from a task, between fork and exec: it allocates nothing and logs nothing.
pub(crate) fn from_task(text: &str) {
    // Text that is not taken is lost, as above.
    let _ = write(text.as_bytes());
}

fn write(text: &[u8]) -> io::Result<()> {
    // SAFETY: the descriptor stays this process's own: the value is never dropped.
    let stderr = ManuallyDrop::new(unsafe { File::from_raw_fd(libc::STDERR_FILENO) });
    let kind = stderr.metadata()?.file_type();
    if kind.is_file() {
        return (&*stderr).write_all(text);
    }
    let until = Instant::now() + PATIENCE;
    if kind.is_socket() {
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
        let put = |part: &[u8]| send(libc::STDERR_FILENO, part, flags).map_err(io::Error::from);
        return piecewise(text, &*stderr, until, put);
    }
    // "Do not wait" is a property of an open file, and the tasks share the file, so it is opened
    // again.
    let own = OpenOptions::new()
        .write(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(STDERR)?;
    piecewise(text, &own, until, |part| (&own).write(part))
}

/// Writes as much as possible without waiting, and waits for the rest no longer than `until`.
fn piecewise(
    mut text: &[u8],
    to: &impl AsFd,
    until: Instant,
    put: impl Fn(&[u8]) -> io::Result<usize>,
) -> io::Result<()> {
    while !text.is_empty() {
        match put(text) {
            Ok(written) => text = text.get(written..).unwrap_or_default(),
            Err(why) if why.kind() == ErrorKind::Interrupted => {}
            Err(why) if why.kind() == ErrorKind::WouldBlock => {
                let left = until.saturating_duration_since(Instant::now());
                let left = u16::try_from(left.as_millis()).unwrap_or(0);
                if left == 0 {
                    return Err(why);
                }
                let mut waiting = [PollFd::new(to.as_fd(), PollFlags::POLLOUT)];
                poll(&mut waiting, PollTimeout::from(left))?;
            }
            Err(why) => return Err(why),
        }
    }
    Ok(())
}

/// The place of a task in its step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    /// The task's number on its node.
    pub local_id: u32,
    /// The node's number in the step; 0 is the first.
    pub node_id: u32,
    pub node_name: &'a str,
}

/// The text for the user, if this task has one to write. `what` is "the task" or "the script".
pub(crate) fn not_started(place: Place<'_>, what: &str, why: &str) -> Option<String> {
    match (place.local_id, place.node_id) {
        (0, 0) => Some(format!("{what} is not started: {why}")),
        // The advice behind the first part is the same on every node.
        (0, _) => {
            let reason = why.split("; ").next().unwrap_or(why);
            Some(format!(
                "node {}: {what} is not started: {reason}",
                place.node_name
            ))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_writes_without_the_allocator() {
        let calls = crate::site::count_allocations::during(|| {
            from_task("berth: error: written by a test\n");
        });
        assert_eq!(calls, 0);
    }

    #[test]
    fn once_a_node_and_in_full_on_the_first() {
        let note = |local_id, node_id| {
            let place = Place {
                local_id,
                node_id,
                node_name: "n7",
            };
            not_started(place, "the task", "no core is free; ask for less")
        };
        let full = "the task is not started: no core is free; ask for less";
        assert_eq!(note(0, 0).as_deref(), Some(full));
        let short = "node n7: the task is not started: no core is free";
        assert_eq!(note(0, 6).as_deref(), Some(short));
        assert_eq!((note(1, 0), note(1, 6)), (None, None));
    }
}
