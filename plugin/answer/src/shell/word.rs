//! One word: its quotes, its escapes and its expansions. Nothing is computed; the bytes of an expansion stand in the word
//! as they are typed.

use std::ops::Range;

use super::scan::Scanner;
use super::{Unclosed, Word};

/// The longest number of an array's element that is looked for.
const LONGEST_ELEMENT: usize = 200;

/// The longest arithmetic expression that is looked for, so that a file of brackets takes no time.
const LONGEST_ARITHMETIC: usize = 1000;

/// The deepest nesting that is followed; no script that people write comes near it.
const DEEPEST: u32 = 64;

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
    fn literal(&mut self, word: &mut Reading, count: usize) {
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
    fn double(&mut self, word: &mut Reading, skip: usize) {
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
    fn never_closed(&mut self, at: usize, what: &'static str) {
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

impl Scanner<'_> {
    /// Reads an expansion, which begins with a dollar sign; `bare` is outside of double quotes.
    fn dollar(&mut self, word: &mut Reading, bare: bool) {
        match self.peek_at(1) {
            Some(b'\'') if bare => self.ansi(word),
            Some(b'"') if bare => self.double(word, 2),
            Some(b'(') => self.expansion(word, bare, Self::parentheses),
            Some(b'{') => self.expansion(word, bare, Self::braces),
            Some(b'[') => self.expansion(word, bare, Self::square),
            Some(b'@') => {
                // It is several words even in quotes.
                word.may_split = true;
                self.expansion(word, bare, |scanner| scanner.at += 2);
            }
            Some(byte) if byte.is_ascii_digit() || b"*#?$!-".contains(&byte) => {
                self.expansion(word, bare, |scanner| scanner.at += 2);
            }
            Some(byte) if is_name(byte) => self.expansion(word, bare, Self::name),
            _ => self.literal(word, 1),
        }
    }

    fn backticks(&mut self, word: &mut Reading, bare: bool) {
        self.expansion(word, bare, |scanner| {
            let start = scanner.at;
            scanner.at += 1;
            while let Some(byte) = scanner.peek() {
                scanner.at += 1 + usize::from(byte == b'\\');
                if byte == b'`' {
                    return;
                }
            }
            scanner.never_closed(start, "a backtick");
        });
    }

    fn expansion(&mut self, word: &mut Reading, bare: bool, skip: impl Fn(&mut Self)) {
        let start = self.at;
        skip(self);
        self.at = self.at.min(self.text.len());
        let bytes = self.text.get(start..self.at).unwrap_or_default();
        word.text.extend(bytes);
        word.is_computed = true;
        word.may_split |= bare || bytes.ends_with(b"[@]}") || bytes == b"${@}";
    }

    /// `$[…]`, the old way to write arithmetic.
    fn square(&mut self) {
        let start = self.at;
        let rest = self.text.get(start..).unwrap_or_default();
        let mut line = rest.iter().take_while(|byte| **byte != b'\n');
        self.at += line.position(|byte| *byte == b']').unwrap_or(0) + 1;
    }

    fn name(&mut self) {
        self.at += 1;
        while self
            .peek()
            .is_some_and(|byte| is_name(byte) || byte.is_ascii_digit())
        {
            self.at += 1;
        }
    }

    /// `$'…'`, with C's escapes.
    fn ansi(&mut self, word: &mut Reading) {
        word.is_quoted = true;
        // Its escapes are left as they are, so its text is not what the shell makes of it.
        word.is_computed = true;
        let start = self.at;
        self.at += 2;
        while let Some(byte) = self.peek() {
            if byte == b'\'' {
                self.at += 1;
                return;
            }
            self.literal(word, 1 + usize::from(byte == b'\\'));
        }
        self.never_closed(start, "a quote");
    }

    /// `$(…)` and `$((…))`.
    fn parentheses(&mut self) {
        let start = self.at;
        self.at += 2;
        if self.peek() == Some(b'(')
            && let Some(end) = self.arithmetic(self.at + 1)
        {
            self.at = end;
            return;
        }
        self.nested(start, "a substitution");
    }

    /// The end of an arithmetic expression whose text begins at `from`: behind its `))`. None if
    /// what begins there is none.
    pub(super) fn arithmetic(&self, from: usize) -> Option<usize> {
        let mut open = 0_u32;
        let mut bytes = self
            .text
            .iter()
            .enumerate()
            .skip(from)
            .take(LONGEST_ARITHMETIC);
        while let Some((at, byte)) = bytes.next() {
            match byte {
                b'\\' => _ = bytes.next(),
                b'(' => open += 1,
                b')' if open > 0 => open -= 1,
                b')' => return (self.text.get(at + 1) == Some(&b')')).then_some(at + 2),
                b';' if open == 0 && !self.is_for => return None,
                _ => {}
            }
        }
        None
    }

    /// Everything up to the round bracket that closes, as commands of their own.
    pub(super) fn nested(&mut self, start: usize, what: &'static str) {
        if self.depth == DEEPEST {
            return self.never_closed(start, "a bracket, too deep,");
        }
        let mut inner = Scanner::new(self.text, self.at, self.depth + 1);
        let is_closed = inner.list();
        self.at = inner.at;
        match inner.unclosed {
            Some(inner) => self.never_closed(inner.at, inner.what),
            None if !is_closed => self.never_closed(start, what),
            None => {}
        }
    }

    /// `${…}`, whose quotes and expansions may hold braces.
    fn braces(&mut self) {
        let start = self.at;
        self.at += 2;
        let mut ignored = Reading::default();
        let mut open = 1_u32;
        while let Some(byte) = self.peek() {
            match byte {
                b'}' => {
                    self.at += 1;
                    open -= 1;
                    if open == 0 {
                        return;
                    }
                }
                b'{' => {
                    open += 1;
                    self.at += 1;
                }
                b'\\' => self.at += 2,
                b'"' => self.double(&mut ignored, 1),
                b'`' => self.backticks(&mut ignored, true),
                b'$' if self.depth < DEEPEST => {
                    self.depth += 1;
                    self.dollar(&mut ignored, false);
                    self.depth -= 1;
                }
                _ => self.at += 1,
            }
        }
        self.never_closed(start, "a brace");
    }
}

/// Where the commands of `$(…)` and of backticks stand in a word.
pub(crate) fn substitutions(word: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = word.get(at..).filter(|rest| !rest.is_empty()) {
        let end = match rest {
            [b'\\', ..] => at + 1,
            [b'$', b'(', next, ..] if *next != b'(' => {
                let mut inner = Scanner::new(word, at + 2, 0);
                let is_closed = inner.list();
                let end = inner.at - usize::from(is_closed);
                found.push(at + 2..end);
                end
            }
            [b'`', rest @ ..] => {
                let length = rest.iter().position(|byte| *byte == b'`');
                let end = at + 1 + length.unwrap_or(rest.len());
                found.push(at + 1..end);
                end
            }
            _ => at,
        };
        at = end + 1;
    }
    found
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}
