//! A reader of shell scripts that finds their commands and keeps the place of every word, so that
//! single words can be changed and every other byte stays. In: bytes. Out: simple commands.
//!
//! It knows bash's grammar as far as it decides where words begin and end: quotes, expansions,
//! comments, here-documents, arrays, compound commands. It runs nothing and expands nothing. The
//! parsers that exist keep characters' places or none, refuse whole scripts for one line, or are
//! many times this size.

mod blocks;
mod redirection;
mod scan;
mod word;

use std::ops::Range;

pub use blocks::{Block, Runs};
pub(crate) use scan::scan;
pub(crate) use word::substitutions;

/// A word of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// Its bytes in the script.
    pub range: Range<usize>,
    /// The word without its quotes; expansions stand there as they are typed.
    pub text: String,
    /// Whether its text is known only when the script runs.
    pub is_computed: bool,
    /// Whether it may become several words, or none.
    pub may_split: bool,
    /// Whether its bytes are its text: nothing is quoted, escaped or continued.
    pub is_plain: bool,
}

/// A simple command: a program with its words, and the assignments before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Simple {
    /// Its words, the program first.
    pub words: Vec<Word>,
    /// The line on which it begins, from 1.
    pub line: usize,
    /// Whether the shell does not wait for it (`&`).
    pub in_background: bool,
    /// The number of loops around it.
    pub loops: usize,
    /// The block that it stands in: a function, a group, a branch, a loop, or what follows `&&` or `||`; 0 for the script
    /// itself.
    pub block: usize,
    /// The here-document that it reads, by its position among all.
    pub input: Option<usize>,
    /// The files that its output goes to.
    pub outputs: Vec<Output>,
    /// Whether the next command reads its output (`|`).
    pub is_piped: bool,
}

/// A file behind `>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Its name.
    pub file: Word,
    /// Whether what is in it stays (`>>`).
    pub appends: bool,
}

/// A here-document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Its lines, without the one that ends it.
    pub range: Range<usize>,
    /// Whether the shell leaves it as it is.
    pub is_quoted: bool,
    /// Whether tabs before its lines do not count (`<<-`).
    pub without_tabs: bool,
}

/// A part of a script that never ends: a quote, or a bracket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unclosed {
    /// Where it begins.
    pub at: usize,
    /// Its name.
    pub what: &'static str,
}

/// The content of a script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commands {
    /// Its commands, in their order.
    pub commands: Vec<Simple>,
    /// Where comments begin.
    pub comments: Vec<usize>,
    /// Its blocks, by their numbers.
    pub blocks: Vec<Block>,
    /// Its here-documents.
    pub documents: Vec<Document>,
    /// The construct that is not closed; the commands after its beginning are not read.
    pub unclosed: Option<Unclosed>,
}

/// The number of the line, from 1, on which a byte stands.
pub fn line_of(text: &[u8], at: usize) -> usize {
    let before = text.get(..at).unwrap_or(text);
    1 + before.iter().filter(|byte| **byte == b'\n').count()
}

/// The name and the value of an assignment, `NAME=value`.
pub fn assignment(text: &str) -> Option<(&str, &str)> {
    text.split_once('=').filter(|(name, _)| is_variable(name))
}

/// Whether a shell's variable may have this name.
pub fn is_variable(name: &str) -> bool {
    let is_first = |first: char| is_letter(first) && !first.is_ascii_digit();
    name.starts_with(is_first) && name.chars().all(is_letter)
}

/// Whether a letter may stand in a variable's name.
pub fn is_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

#[cfg(test)]
mod tests;
