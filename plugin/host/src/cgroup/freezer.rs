//! The unified hierarchy's freezer: whether a cgroup is frozen, and freezing one.
//! In: a folder. Out: the kernel's answer. A reader of [`Events`] is woken when that answer changes.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;

use super::write::Trace;
use super::{FenceError, Folder};

/// The kernel's two lines are shorter.
const MOST: usize = 256;
const EVENTS: &str = "cgroup.events";
pub(super) const FREEZE: &str = "cgroup.freeze";

/// The events of a cgroup, behind a descriptor that is kept open. poll(2) reports `POLLPRI` after a change
/// until it is read again.
#[derive(Debug)]
pub struct Events(File);

/// The state of a cgroup and all below it, by the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Somebody lives there.
    pub is_populated: bool,
    /// Everybody there is frozen.
    pub is_frozen: bool,
}

impl Events {
    /// Opens those of a folder.
    ///
    /// # Errors
    /// [`FenceError::File`]
    pub fn open(folder: &Folder) -> Result<Self, FenceError> {
        folder.open_file(EVENTS).map(|fd| Self(fd.into()))
    }

    /// Reads them.
    ///
    /// # Errors
    /// The kernel's answer: `ENODEV` once the cgroup is gone.
    pub fn read(&self) -> io::Result<State> {
        let mut text = [0; MOST];
        let length = self.0.read_at(&mut text, 0)?;
        let text = text.get(..length).unwrap_or_default();
        Ok(State::of(&String::from_utf8_lossy(text)))
    }
}

impl AsFd for Events {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl State {
    fn of(text: &str) -> Self {
        let has = |wanted: &str| text.lines().any(|line| line == wanted);
        Self {
            is_populated: has("populated 1"),
            is_frozen: has("frozen 1"),
        }
    }

    /// That of a folder now.
    ///
    /// # Errors
    /// [`FenceError::File`]
    pub fn now(folder: &Folder) -> Result<Self, FenceError> {
        folder.read(EVENTS).map(|text| Self::of(&text))
    }
}

/// Freezes a cgroup, or thaws it. It stays frozen as long as one above it is.
///
/// # Errors
/// [`FenceError::File`]
pub fn freeze(folder: &Folder, freezes: bool, trace: Trace<'_>) -> Result<(), FenceError> {
    let value = if freezes { "1" } else { "0" };
    folder.put(FREEZE, value).map(|done| trace(&done))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_lines_in_any_order() {
        for (text, is_populated, is_frozen) in [
            ("populated 1\nfrozen 0\n", true, false),
            ("frozen 1\npopulated 1\n", true, true),
            ("populated 0\nfrozen 1\n", false, true),
            ("populated 1\n", true, false),
            ("", false, false),
            ("populated 10\nfrozen 11\n", false, false),
        ] {
            let expected = State {
                is_populated,
                is_frozen,
            };
            assert_eq!(State::of(text), expected, "{text:?}");
        }
    }
}
