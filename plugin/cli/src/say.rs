//! Talking to the user: answers to stdout, everything else to stderr. Nobody listening is no
//! reason to panic: a closed stderr is ignored, a closed stdout ends the program quietly.

use std::io::{self, BufWriter, StdoutLock, Write};

/// Where answers go; flush it.
pub(crate) fn output() -> BufWriter<StdoutLock<'static>> {
    BufWriter::new(io::stdout().lock())
}

/// Something the user should know although the step runs.
pub(crate) fn note(text: &str) {
    line("note: ", text);
}

/// Why the step would not run.
pub(crate) fn refused(why: &str) {
    line("refused: ", why);
}

/// Why the command failed.
pub(crate) fn failed(why: &str) {
    line("", why);
}

fn line(kind: &str, text: &str) {
    let _ = writeln!(io::stderr(), "berth: {kind}{text}");
}
