//! One word: its quotes, its escapes and its expansions.

use super::scan::Scanner;
use super::{Unclosed, Word};

/// The longest number of an array's element that is looked for.
const LONGEST_ELEMENT: usize = 200;

/// A word while it is read.
#[derive(Default)]
pub(super) struct Reading {
    pub text: Vec<u8>,
    pub is_computed: bool,
    pub may_split: bool,
    pub is_quoted: bool,
}

impl Scanner<'_> {
    /// The word that begins here; the caller has seen that one does.
    pub(super) fn word(&mut self) -> Word {
        let start = self.at;
        let mut word = Reading::default();
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\n' | b';' | b'|' | b')' => break,
                b'&' => break,
                b'\r' if matches!(self.peek_at(1), None | Some(b'\n')) => break,
                b'<' | b'>' if self.peek_at(1) == Some(b'(') => self.brackets(&mut word, 2),
                b'<' | b'>' => break,
                b'(' if opens_brackets(&word.text) => self.brackets(&mut word, 1),
                b'(' => break,
                b'[' if self.is_element(&word.text) => self.element(&mut word),
                b'\\' => self.escape(&mut word),
                b'\'' => self.single(&mut word),
                b'"' => self.double(&mut word, 1),
                b'`' => self.backticks(&mut word, true),
                b'$' => self.dollar(&mut word, true),
                _ => self.literal(&mut word, 1),
            }
        }
        Word {
            range: start..self.at,
            text: String::from_utf8_lossy(&word.text).into_owned(),
            is_computed: word.is_computed,
            may_split: word.may_split,
            is_plain: !word.is_quoted,
        }
    }

    /// Takes bytes as they are.
    pub(super) fn literal(&mut self, word: &mut Reading, count: usize) {
        let end = (self.at + count).min(self.text.len());
        word.text
            .extend(self.text.get(self.at..end).unwrap_or_default());
        self.at = end;
    }

    fn escape(&mut self, word: &mut Reading) {
        word.is_quoted = true;
        self.at += 1;
        match self.peek() {
            Some(b'\n') => self.at += 1,
            Some(b'\r') if self.peek_at(1) == Some(b'\n') => self.at += 2,
            Some(_) => self.literal(word, 1),
            None => {}
        }
    }

    fn single(&mut self, word: &mut Reading) {
        word.is_quoted = true;
        let start = self.at;
        self.at += 1;
        let rest = self.text.get(self.at..).unwrap_or_default();
        match rest.iter().position(|byte| *byte == b'\'') {
            Some(end) => {
                self.literal(word, end);
                self.at += 1;
            }
            None => self.never_closed(start, "a quote"),
        }
    }

    /// Double quotes that begin after `skip` bytes.
    pub(super) fn double(&mut self, word: &mut Reading, skip: usize) {
        word.is_quoted = true;
        let start = self.at;
        self.at += skip;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    self.at += 1;
                    return;
                }
                b'\\' if self.peek_at(1) == Some(b'\n') => self.at += 2,
                b'\\' if matches!(self.peek_at(1), Some(b'"' | b'\\' | b'$' | b'`')) => {
                    self.at += 1;
                    self.literal(word, 1);
                }
                b'`' => self.backticks(word, false),
                b'$' => self.dollar(word, false),
                _ => self.literal(word, 1),
            }
        }
        self.never_closed(start, "a quote");
    }

    /// An array's values, a pattern, or a process: everything up to the bracket that closes.
    fn brackets(&mut self, word: &mut Reading, skip: usize) {
        let start = self.at;
        self.at += skip;
        word.is_computed = true;
        word.is_quoted = true;
        self.nested(start, "a bracket");
        word.text
            .extend(self.text.get(start..self.at).unwrap_or_default());
    }

    /// Whether `[…]=` follows a name: an array's element, whose number may have any sign.
    fn is_element(&self, name: &[u8]) -> bool {
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let rest = self.text.get(self.at..).unwrap_or_default();
        let line = rest.iter().take(LONGEST_ELEMENT);
        let mut line = line.take_while(|byte| !b"\n'\"`$".contains(byte));
        let end = line.position(|byte| *byte == b']');
        let behind = end.and_then(|end| rest.get(end + 1..));
        let is_set = behind.is_some_and(|rest| rest.starts_with(b"=") || rest.starts_with(b"+="));
        !name.is_empty() && name.iter().all(is_name) && is_set
    }

    fn element(&mut self, word: &mut Reading) {
        while self.peek().is_some_and(|byte| byte != b']') {
            self.literal(word, 1);
        }
    }

    /// Ends the reading: nothing after an open quote can be understood.
    pub(super) fn never_closed(&mut self, at: usize, what: &'static str) {
        self.at = self.text.len();
        self.unclosed.get_or_insert(Unclosed { at, what });
    }
}

/// Whether a bracket after this part of a word belongs to it: `name=(`, `name+=(`, `@(`, `?(`.
fn opens_brackets(text: &[u8]) -> bool {
    let is_pattern = |byte: &u8| b"@?*+!".contains(byte);
    match text.split_last() {
        Some((b'=', name)) => !name.is_empty(),
        Some((last, _)) => is_pattern(last),
        None => false,
    }
}
