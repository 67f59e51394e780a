//! Writes the `log` crate's messages into Slurm's own log, at Slurm's levels; each
//! begins with "berth: ". This is the one place where a line is made harmless: many lines contain
//! texts of users, and none of these may end the line, steer a terminal, or fill the disk.

use std::fmt::{self, Write};

use berth_placement::sets::limits::LOG_LINE;
use berth_placement::sets::text::Bounded;
use log::{LevelFilter, Log, Metadata, Record};
use slurm_sys::log::Level;
use slurm_sys::process::{Daemon, daemon};

struct SlurmLog;

static LOG: SlurmLog = SlurmLog;

/// Target for messages at Slurm's verbose level, which `log` has no name for.
pub(crate) const VERBOSE: &str = "verbose";

/// Makes it the logger of this object.
pub(crate) fn install() {
    // Fails only if there is one already, and ours is the only one in this object.
    if log::set_logger(&LOG).is_ok() {
        log::set_max_level(LevelFilter::Trace);
    }
}

fn level(metadata: &Metadata<'_>) -> Level {
    match metadata.level() {
        // slurmstepd shows its errors in the job's output. Texts for the user are
        // written there on purpose (`job_stderr::to_user`); the rest is for the administrator.
        log::Level::Error if daemon() == Daemon::Slurmstepd => Level::Info,
        log::Level::Error => Level::Error,
        // Slurm has no warnings. At info they reach every log, but no user's stderr.
        log::Level::Warn => Level::Info,
        log::Level::Info if metadata.target() == VERBOSE => Level::Verbose,
        log::Level::Info => Level::Info,
        log::Level::Debug | log::Level::Trace => Level::Debug,
    }
}

/// One line of at most [`LOG_LINE`] bytes.
fn line(kind: &str, text: fmt::Arguments<'_>) -> String {
    let mut line = Plain(Bounded::new(LOG_LINE));
    // What does not fit is cut.
    let _ = write!(line, "berth: {kind}{text}");
    line.0.into_shown()
}

/// Writes control characters, line separators and marks of writing direction as `\u{…}`.
struct Plain(Bounded);

impl Write for Plain {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let is_harmful = |letter: char| {
            letter.is_control()
                || matches!(letter, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        };
        let mut rest = text;
        while let Some(at) = rest.find(is_harmful) {
            let (plain, harmful) = rest.split_at(at);
            self.0.write_str(plain)?;
            let mut letters = harmful.chars();
            for letter in letters.by_ref().take(1) {
                write!(self.0, "{}", letter.escape_default())?;
            }
            rest = letters.as_str();
        }
        self.0.write_str(rest)
    }
}

impl Log for SlurmLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        slurm_sys::log::enabled(level(metadata))
    }

    fn log(&self, record: &Record<'_>) {
        let level = level(record.metadata());
        if slurm_sys::log::enabled(level) {
            let error = record.level() == log::Level::Error && level != Level::Error;
            let kind = if error { "error: " } else { "" };
            slurm_sys::log::write(level, &line(kind, *record.args()));
        }
    }

    fn flush(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_writes_a_second_line() {
        let forged =
            "x\n[2026-01-01T00:00:00] slurmd: error\r\x1b[2J\u{9b}\u{2028}\u{202e}\0\t\u{e9}";
        let line = line("error: ", format_args!("TMPDIR={forged}"));
        assert_eq!(
            line,
            "berth: error: TMPDIR=x\\n[2026-01-01T00:00:00] slurmd: error\\r\\u{1b}[2J\\u{9b}\
             \\u{2028}\\u{202e}\\u{0}\\t\u{e9}"
        );
    }

    #[test]
    fn a_line_ends_somewhere() {
        for text in ["y", "\n"] {
            let line = line("", format_args!("{}", text.repeat(1 << 20)));
            assert!(line.len() <= LOG_LINE + "…".len(), "{}", line.len());
            assert!(line.ends_with('…'));
        }
    }
}
