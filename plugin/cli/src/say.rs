//! Writes to the user: answers to stdout, everything else to stderr. A closed stderr is ignored, and
//! a closed stdout ends the program quietly; neither is a panic.
//! An administrator may look at users' scripts and reports, so their text must never act as a
//! command to the terminal.

use std::borrow::Cow;
use std::io::{self, BufWriter, StdoutLock, Write};

use crate::here::{By, Fact};

/// The output for answers; the caller must flush it.
pub(crate) fn output() -> BufWriter<StdoutLock<'static>> {
    BufWriter::new(io::stdout().lock())
}

/// The same for answers that repeat text from somebody's file.
pub(crate) fn foreign_output() -> Harmless<BufWriter<StdoutLock<'static>>> {
    Harmless(output())
}

/// Passes text on, without control characters but line breaks and tabs.
pub(crate) struct Harmless<W>(W);

impl<W: Write> Write for Harmless<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        self.0.write_all(lines(&text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Text of several lines without other control characters.
fn lines(text: &str) -> Cow<'_, str> {
    without(text, |letter| {
        letter.is_control() && !matches!(letter, '\n' | '\t')
    })
}

/// Text of one line.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    without(text, char::is_control)
}

fn without(text: &str, bad: impl Fn(char) -> bool) -> Cow<'_, str> {
    match text.contains(&bad) {
        true => text.replace(bad, "\u{fffd}").into(),
        false => text.into(),
    }
}

/// Prints what an answer rests on, where the answer itself has no room for it.
pub(crate) fn facts(facts: &[Fact]) {
    for fact in facts.iter().filter(|fact| fact.by != By::Option) {
        line(&format!("{}: ", fact.what), &fact.to_string());
    }
}

/// Prints a note to the user of a step that runs.
pub(crate) fn note(text: &str) {
    line("note: ", text);
}

/// Prints the reason why the step would not run.
pub(crate) fn refused(why: &str) {
    line("refused: ", why);
}

/// Prints the reason why the command failed.
pub(crate) fn failed(why: &str) {
    line("", why);
}

fn line(kind: &str, text: &str) {
    let _ = writeln!(io::stderr(), "berth: {kind}{}", lines(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_commands_a_terminal() {
        let mut out = Harmless(Vec::new());
        write!(out, "a\tb\n\u{1b}[31mred\r\u{7}\u{9b}2J \u{7f}ä\n").unwrap();
        let text = String::from_utf8(out.0).unwrap();
        assert_eq!(
            text,
            "a\tb\n\u{fffd}[31mred\u{fffd}\u{fffd}\u{fffd}2J \u{fffd}ä\n"
        );
        assert_eq!(one_line("one\nrow"), "one\u{fffd}row");
    }
}
