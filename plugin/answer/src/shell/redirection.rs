//! Redirections and here-documents: which document a command reads, and which files it writes.

use super::scan::Scanner;
use super::{Document, Output, Unclosed, Word};

impl Scanner<'_> {
    /// A redirection that begins here.
    pub(super) fn redirection(&mut self) {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let operators: [&[u8]; 11] = [
            b"<<<", b"<<-", b"<<", b"<&", b"<>", b">>", b">&", b">|", b"&>>", b"<", b">",
        ];
        let found = operators.into_iter().find(|sign| rest.starts_with(sign));
        let operator = found.unwrap_or(b">");
        self.at += operator.len();
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        let is_word = self
            .peek()
            .is_some_and(|byte| !b"\n;|&()<>".contains(&byte));
        if !is_word {
            self.descriptor = None;
            return;
        }
        let target = self.word();
        let descriptor = self.descriptor.take();
        let is_of = |number: &str| descriptor.as_deref().is_none_or(|given| given == number);
        match operator {
            b"<<" | b"<<-" => {
                let number = self.bodies.len();
                self.bodies.push(Document {
                    range: 0..0,
                    is_quoted: !target.is_plain,
                    without_tabs: operator == b"<<-",
                });
                self.documents.push((target, number));
                if is_of("0") {
                    self.input = Some(number);
                }
            }
            b"<<<" | b"<" | b"<&" | b"<>" if is_of("0") => self.input = None,
            b">" | b">>" | b">|" | b"&>>" if is_of("1") => self.outputs.push(Output {
                file: target,
                appends: operator.ends_with(b">>"),
            }),
            _ => {}
        }
    }

    /// The here-documents of the line that has ended.
    pub(super) fn documents(&mut self) {
        for (word, number) in std::mem::take(&mut self.documents) {
            self.document(&word, number);
        }
    }

    /// Here-documents behind the last line.
    pub(super) fn missing_documents(&mut self) {
        if let Some((word, _)) = self.documents.first() {
            let (at, what) = (word.range.start, "a here-document");
            self.unclosed.get_or_insert(Unclosed { at, what });
        }
    }

    /// Skips a here-document, with the line that ends it.
    fn document(&mut self, word: &Word, number: usize) {
        let start = self.at;
        let without_tabs = self
            .bodies
            .get(number)
            .is_some_and(|body| body.without_tabs);
        let mut end = None;
        while end.is_none() && !self.is_at_end() {
            let rest = self.text.get(self.at..).unwrap_or_default();
            let length = rest.iter().position(|byte| *byte == b'\n');
            let line = rest.get(..length.unwrap_or(rest.len())).unwrap_or(rest);
            let begin = self.at;
            self.at = (self.at + line.len() + 1).min(self.text.len());
            let tabs = line
                .iter()
                .take_while(|byte| without_tabs && **byte == b'\t');
            let line = line.get(tabs.count()..).unwrap_or_default();
            let is_end = line.strip_suffix(b"\r").unwrap_or(line) == word.text.as_bytes();
            end = is_end.then_some(begin);
        }
        if end.is_none() {
            let (at, what) = (word.range.start, "a here-document");
            self.unclosed.get_or_insert(Unclosed { at, what });
        }
        if let Some(body) = self.bodies.get_mut(number) {
            body.range = start..end.unwrap_or(self.at);
        }
    }
}
