//! Slurm's log in a file, read after each message: it tells of panics that the hooks' guard has
//! caught, and no user may write a line of it.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// What a caught panic is logged with.
const PANIC: &str = "panic at ";
/// Slurm begins every line of a file with the date in these.
const DATE: char = '[';

/// The log, and how far it was read.
pub struct LogFile {
    file: File,
    read: u64,
}

/// What a message left in the log.
#[derive(Debug, Default)]
pub struct Written {
    /// Bytes of the longest line.
    pub longest: usize,
    /// What is wrong with it.
    pub wrong: Option<String>,
}

impl LogFile {
    /// The file that Slurm logs to.
    ///
    /// # Errors
    /// A file that cannot be opened.
    pub fn open(path: &Path) -> Result<Self, String> {
        let file = File::open(path).map_err(|why| format!("{}: {why}", path.display()))?;
        Ok(Self { file, read: 0 })
    }

    /// What came since the last look.
    pub fn look(&mut self) -> Written {
        let mut text = Vec::new();
        let mut page = [0; 1 << 14];
        while let Ok(length @ 1..) = self.file.read_at(&mut page, self.read) {
            text.extend_from_slice(&page[..length]);
            self.read += length as u64;
        }
        let text = String::from_utf8_lossy(&text);
        let mut written = Written::default();
        for line in text.lines() {
            written.longest = written.longest.max(line.len());
            let shown: String = line.chars().take(300).collect();
            if line.contains(PANIC) {
                written.wrong = Some(format!("a panic was caught: {shown:?}"));
            } else if !line.starts_with(DATE) {
                written.wrong = Some(format!("a line of the log is not Slurm's: {shown:?}"));
            }
        }
        written
    }
}
