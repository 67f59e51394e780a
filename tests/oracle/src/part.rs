//! The part of a run that one process does, and the file by which it says how far it has come: it may die over a request.

use std::fs::{self, File};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::machine::Class;
use crate::random::Random;

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

    /// The requests of these numbers.
    #[must_use]
    pub fn only(self, numbers: Range<u64>) -> Self {
        Self {
            first: numbers.start,
            count: numbers.end - numbers.start,
            ..self
        }
    }

    /// The seed of one request.
    #[must_use]
    pub fn seed_of(&self, number: u64) -> u64 {
        Random::new(self.seed ^ number.wrapping_mul(0x2545_f491_4f6c_dd1d)).number()
    }
}

/// The file that says which request is on its way.
pub struct Progress(File);

impl Progress {
    /// Makes it.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn create(path: &Path) -> Result<Self, String> {
        let file = File::create(path);
        file.map(Self)
            .map_err(|why| format!("{}: {why}", path.display()))
    }

    /// Writes a request's number and whose hook gets it, and lets the process end where the hook hangs.
    pub fn note(&self, number: u64, whose: &str) {
        // A note that is lost only makes a crash harder to place.
        let _ = self
            .0
            .write_all_at(format!("{number:20} {whose:20}").as_bytes(), 0);
        // SAFETY: takes a number.
        unsafe { libc::alarm(HANGS) };
    }

    /// The last note of a process; none if it ended before its first request.
    pub(crate) fn read(path: &Path) -> Option<(u64, String)> {
        let note = fs::read_to_string(path).ok()?;
        let (number, whose) = note.trim().split_once(' ')?;
        Some((number.parse().ok()?, whose.trim().to_owned()))
    }
}
