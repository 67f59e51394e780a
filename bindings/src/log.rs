//! Lines in Slurm's log: the daemon's, or from slurmstepd also the job's stderr.

use crate::symbols::{LogFn, Symbols};
use std::ffi::{CString, c_int};

/// The importance of a line, by Slurm's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Something failed.
    Error,
    /// Worth knowing.
    Info,
    /// Shown from `-v` on.
    Verbose,
    /// Shown from debug level 1 on.
    Debug,
}

impl Level {
    /// The number in `log_level_t` (src/common/log.h).
    fn number(self) -> c_int {
        match self {
            Level::Error => 2,
            Level::Info => 3,
            Level::Verbose => 4,
            Level::Debug => 5,
        }
    }

    fn function(self, symbols: &Symbols) -> Option<LogFn> {
        match self {
            Level::Error => symbols.slurm_error,
            Level::Info => symbols.slurm_info,
            Level::Verbose => symbols.slurm_verbose,
            Level::Debug => symbols.slurm_debug,
        }
    }
}

/// Whether Slurm would write a line of this level anywhere; true if Slurm cannot be asked.
pub fn enabled(level: Level) -> bool {
    enabled_in(Symbols::get(), level)
}

/// Writes one line. In a process without Slurm's log it goes nowhere.
pub fn write(level: Level, text: &str) {
    write_to(Symbols::get(), level, text);
}

/// [`enabled`], with symbols given.
pub fn enabled_in(symbols: &Symbols, level: Level) -> bool {
    // SAFETY: get_log_level takes nothing and returns the highest level that any log takes.
    symbols
        .get_log_level
        .is_none_or(|get| unsafe { get() } >= level.number())
}

/// [`write()`], with symbols given.
pub fn write_to(symbols: &Symbols, level: Level, text: &str) {
    let Some(log) = level.function(symbols) else {
        return;
    };
    // A NUL would cut the line; the text may come from a user.
    let Ok(line) = CString::new(text.replace('\0', "\\0")) else {
        return;
    };
    // SAFETY: the format takes one string, and gets one; Slurm copies it before it returns.
    unsafe { log(c"%s".as_ptr(), line.as_ptr()) };
}
