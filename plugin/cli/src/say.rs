//! Writes to the user: answers to stdout, everything else to stderr. A closed stderr is ignored, and
//! a closed stdout ends the program quietly; neither is a panic.
//! An administrator may look at users' scripts and reports, so their text must never act as a
//! command to the terminal.

use std::borrow::Cow;
use std::env;
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write, stdout};
use std::sync::OnceLock;

use anstream::{AutoStream, ColorChoice as Choice};
use berth_answer::picture::Screen;
use berth_answer::text::{lines, short, write_named, write_table};
use berth_answer::{Premise, Provenance};
use clap::ColorChoice;

/// The number of columns if nothing gives it.
const WIDTH: usize = 80;

/// The output for documents that programs read; the caller must flush it.
pub(crate) fn output() -> BufWriter<StdoutLock<'static>> {
    BufWriter::new(io::stdout().lock())
}

/// The output for answers that people read: in ASCII where the locale or `--ascii` wants it.
pub(crate) fn text_output() -> Readable<BufWriter<StdoutLock<'static>>> {
    Readable(output())
}

/// The output for answers in a format: one that people read, or one that programs do.
pub(crate) fn output_for(is_text: bool) -> Box<dyn Write> {
    match is_text {
        true => Box::new(text_output()),
        false => Box::new(output()),
    }
}

/// The output for people where an answer repeats text from somebody's file: control characters are left out.
pub(crate) fn foreign_output() -> Harmless<Readable<BufWriter<StdoutLock<'static>>>> {
    Harmless(text_output())
}

/// The number of columns that a table or picture may have: as many as asked, or as the terminal has.
pub(crate) fn width(requested: Option<usize>) -> usize {
    let terminal = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    requested.or_else(terminal).unwrap_or(WIDTH)
}

/// Rows below the heads of their columns, as wide as the terminal.
pub(crate) fn table<T: Into<String>>(
    out: &mut impl Write,
    heads: impl IntoIterator<Item = T>,
    rows: impl IntoIterator<Item = Vec<String>>,
) -> io::Result<()> {
    write_table(out, width(None), heads, rows)
}

/// A name with its text beside it, folded to the width of the terminal.
pub(crate) fn named(out: &mut impl Write, name: &str, text: &str) -> io::Result<()> {
    write_named(out, width(None), name, text)
}

/// The terminal's size and colours; options decide before it and `NO_COLOR`.
pub(crate) fn screen(width: Option<usize>, colours: ColorChoice) -> Screen {
    let is_shown = || stdout().is_terminal() && AutoStream::choice(&stdout()) != Choice::Never;
    Screen {
        width: self::width(width),
        has_colours: match colours {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => is_shown(),
        },
    }
}

/// Whether text has no letters beyond ASCII.
static ASCII: OnceLock<bool> = OnceLock::new();

/// Decides between ASCII and other letters, once: the option decides, else the locale.
pub(crate) fn use_ascii(requested: bool) {
    let _ = ASCII.set(requested || !is_utf8(|name| env::var(name).ok()));
}

/// Whether the locale has letters beyond ASCII. Source: locale(7).
fn is_utf8(variable: impl Fn(&str) -> Option<String>) -> bool {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"];
    let mut values = names.into_iter().filter_map(variable);
    let locale = values.find(|value| !value.is_empty()).unwrap_or_default();
    let locale = locale.to_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

/// Writes our own letters in ASCII. Names from somebody's file stay as they are.
fn plain(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || !ASCII.get().copied().unwrap_or(false) {
        return text.into();
    }
    let mut all = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '┌' | '┐' | '└' | '┘' => all.push('+'),
            '─' => all.push('-'),
            '│' => all.push('|'),
            '×' => all.push('x'),
            '…' => all.push_str("..."),
            other => all.push(other),
        }
    }
    all.into()
}

/// Passes text on, in ASCII if that is wanted. A write must not end within a letter.
pub(crate) struct Readable<W>(W);

impl<W: Write> Write for Readable<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.0.write_all(plain(text).as_bytes())?,
            Err(_) => self.0.write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
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

/// Prints what an answer rests on, where the answer itself has no room for it.
pub(crate) fn premises(premises: &[Premise]) {
    for premise in premises
        .iter()
        .filter(|premise| premise.by != Provenance::Option)
    {
        line(&format!("{}: ", premise.what), &premise.to_string());
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
    line("", &short(why));
}

fn line(kind: &str, text: &str) {
    let text = lines(text);
    let _ = writeln!(io::stderr(), "berth: {kind}{}", plain(&text));
}

#[cfg(test)]
mod tests {
    use berth_answer::text::one_line;

    use super::*;

    #[test]
    fn the_locale_decides() {
        for (all, language, is) in [
            (None, Some("C.UTF-8"), true),
            (None, Some("de_DE.utf8"), true),
            (Some("C"), Some("C.UTF-8"), false),
            (Some(""), Some("en_US.UTF-8"), true),
            (None, None, false),
        ] {
            let value = |name: &str| match name {
                "LC_ALL" => all.map(String::from),
                "LANG" => language.map(String::from),
                _ => None,
            };
            assert_eq!(is_utf8(value), is, "{all:?} {language:?}");
        }
    }

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
