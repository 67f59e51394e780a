//! The file of slurmd's [`Announcement`]: `slurmd.json` in the node's state directory.

use std::io;

use berth_site::Announcement;
use nix::time::{ClockId, clock_gettime};
use nix::unistd::{SysconfVar, sysconf};

use crate::atomic_file;
use crate::state::StateDir;
use crate::trust::{self, ReadError};

/// Its name in the state directory.
pub const NAME: &str = "slurmd.json";
const MODE: u32 = 0o644;
/// Far more bytes than it can have: a command line is the longest part.
const MOST: u64 = 1 << 20;
/// The kernel's usual value, in case it does not give one.
const USUAL_TICKS: i64 = 100;

/// Writes it.
///
/// # Errors
/// A directory that cannot be written.
pub fn write(dir: &StateDir, words: &Announcement) -> io::Result<()> {
    let text = serde_json::to_string_pretty(words)? + "\n";
    atomic_file::replace(&dir.path().join(NAME), text.as_bytes(), MODE).map_err(|failed| failed.why)
}

/// An announcement that was not read.
#[derive(Debug, thiserror::Error)]
pub enum AnnouncementError {
    /// The file was not read.
    #[error(transparent)]
    File(#[from] ReadError),
    /// Another release wrote it in another form.
    #[error("{0} is not what this release of berth writes")]
    Format(#[from] serde_json::Error),
}

/// Reads it, as only root can have written it.
///
/// # Errors
/// No such file, one that others could have written, or one that another release wrote otherwise.
pub fn read(dir: &StateDir) -> Result<Announcement, AnnouncementError> {
    let text = trust::read(&dir.path().join(NAME), MOST)?;
    Ok(serde_json::from_slice(&text)?)
}

/// Clock ticks since the boot, as /proc counts the start of a process.
#[must_use]
pub fn ticks_now() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_BOOTTIME);
    let (seconds, nanoseconds) = now.map_or((0, 0), |now| (now.tv_sec(), now.tv_nsec()));
    let ticks = ticks_a_second();
    (seconds * ticks + nanoseconds * ticks / 1_000_000_000) as u64
}

/// Clock ticks in a second.
#[must_use]
pub fn ticks_a_second() -> i64 {
    let told = sysconf(SysconfVar::CLK_TCK).ok().flatten();
    told.filter(|ticks| *ticks > 0).unwrap_or(USUAL_TICKS)
}
