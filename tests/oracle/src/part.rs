//! What one process of a run does, and the file by which it says how far it has come: it may die over a request.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::machine::Class;
use crate::random::Random;

/// The last line of a process that came to its end.
pub const END: &str = "end";
/// Begins what a process has found; an empty line ends it.
pub const WRONG: &str = "wrong: ";
/// Seconds after which a request counts as hanging.
const HANGS: u32 = 60;

/// Requests of one class under one site's settings.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Class of all its requests.
    pub class: Class,
    /// The number of the settings.
    pub settings: usize,
    /// From which each request's own seed comes.
    pub seed: u64,
    /// The first request's number.
    pub first: u64,
    /// The number of requests.
    pub count: u64,
}

impl Part {
    /// The numbers of its requests.
    #[must_use]
    pub fn numbers(&self) -> Range<u64> {
        self.first..self.first + self.count
    }

    /// The seed of one request.
    #[must_use]
    pub fn seed_of(&self, number: u64) -> u64 {
        Random::new(self.seed ^ number.wrapping_mul(0x2545_f491_4f6c_dd1d)).number()
    }

    /// The options that show one request again.
    #[must_use]
    pub fn replay(&self, number: u64) -> String {
        let (class, settings) = (self.class, self.settings);
        let seed = self.seed_of(number);
        format!("--replay {seed} --class {class} --settings {settings}")
    }
}

/// Whose hook runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// task/affinity's.
    Theirs,
    /// Ours.
    Ours,
}

impl fmt::Display for Whose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Theirs => "task/affinity",
            Self::Ours => "task/berth",
        })
    }
}

/// The file that says which request is on its way.
pub struct Progress(File);

impl Progress {
    /// Opens the parent's file.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn open(path: &Path) -> Result<Self, String> {
        let file = OpenOptions::new().write(true).open(path);
        file.map(Self)
            .map_err(|why| format!("{}: {why}", path.display()))
    }

    /// Writes a request's number, and lets the process end where the hook hangs.
    pub fn note(&self, number: u64, whose: Whose) {
        let mut bytes = [0; 9];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        bytes[8] = whose as u8;
        // A note that is lost only makes a crash harder to place.
        let _ = self.0.write_all_at(&bytes, 0);
        // SAFETY: takes a number.
        unsafe { libc::alarm(HANGS) };
    }

    /// Ends the watch over the last request.
    pub fn end(&self) {
        // SAFETY: takes a number.
        unsafe { libc::alarm(0) };
    }

    /// What a process wrote last; none if it ended before its first request.
    pub(crate) fn read(path: &Path) -> Option<(u64, Whose)> {
        let note: [u8; 9] = fs::read(path).ok()?.try_into().ok()?;
        let (number, whose) = note.split_at(8);
        let number = u64::from_le_bytes(number.try_into().ok()?);
        let is_ours = whose == [Whose::Ours as u8];
        Some((number, if is_ours { Whose::Ours } else { Whose::Theirs }))
    }
}
