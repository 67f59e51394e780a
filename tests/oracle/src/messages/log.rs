//! Slurm's log in a file, read after each message: it has the panics that the hooks' guard has
//! caught, and no user may write a line of it.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// A caught panic is logged with these words.
const PANIC: &str = "panic at ";
/// Slurm begins every line of a file with the date in these.
const DATE: char = '[';

/// The log, as far as it was not yet read.
pub struct LogFile(File);

impl LogFile {
    /// Makes the file for Slurm to log to.
    ///
    /// # Errors
    /// A file that cannot be made.
    pub fn create(path: &Path) -> Result<Self, String> {
        let made = std::fs::write(path, []).and_then(|()| File::open(path));
        made.map(Self)
            .map_err(|why| format!("{}: {why}", path.display()))
    }

    /// Why a line since the last look is wrong.
    pub fn wrong(&mut self) -> Option<String> {
        let mut text = Vec::new();
        if let Err(why) = self.0.read_to_end(&mut text) {
            return Some(format!("the log cannot be read: {why}"));
        }
        String::from_utf8_lossy(&text).lines().find_map(|line| {
            let shown: String = line.chars().take(300).collect();
            if line.contains(PANIC) {
                Some(format!("a panic was caught: {shown:?}"))
            } else {
                let foreign = !line.starts_with(DATE);
                foreign.then(|| format!("a line of the log is not Slurm's: {shown:?}"))
            }
        })
    }
}
