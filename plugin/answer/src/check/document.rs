//! A here-document as the program gets it, with the place of every byte in the script around it.

use std::ops::Range;

use crate::shell::Document;

/// Its text, and where each byte of it stands.
pub(super) struct Body {
    pub text: Vec<u8>,
    places: Vec<usize>,
}

impl Body {
    /// In a document whose end is not quoted, the shell takes backslashes away and fills variables in.
    /// Their names get a digit before them here, so that a variable which the document itself sets is
    /// another one.
    pub(super) fn of(script: &[u8], document: &Document) -> Self {
        let mut body = Self {
            text: Vec::new(),
            places: Vec::new(),
        };
        let mut at = document.range.start;
        let mut is_line_start = true;
        while let Some(byte) = script.get(at).filter(|_| at < document.range.end) {
            let next = script.get(at + 1).filter(|_| !document.is_quoted);
            match (byte, next) {
                (b'\t', _) if is_line_start && document.without_tabs => at += 1,
                (b'\\', Some(b'\n')) => at += 2,
                (b'\\', Some(next @ (b'$' | b'`' | b'\\'))) => {
                    body.push(*next, at + 1);
                    at += 2;
                }
                (b'$', Some(next)) => {
                    body.push(b'$', at);
                    at += 1;
                    if *next == b'{' {
                        body.push(b'{', at);
                        at += 1;
                    }
                    let is_name = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
                    if script.get(at).is_some_and(is_name) {
                        body.push(b'1', at);
                    }
                }
                _ => {
                    body.push(*byte, at);
                    at += 1;
                }
            }
            is_line_start = match is_line_start && document.without_tabs {
                true => matches!(byte, b'\t' | b'\n'),
                false => *byte == b'\n',
            };
        }
        body.places.push(document.range.end);
        body
    }

    fn push(&mut self, byte: u8, place: usize) {
        self.text.push(byte);
        self.places.push(place);
    }

    /// Where a byte of it stands.
    pub(super) fn place(&self, at: usize) -> usize {
        let last = self.places.last().copied().unwrap_or_default();
        self.places.get(at).copied().unwrap_or(last)
    }

    /// Where a part of it stands.
    pub(super) fn range(&self, part: &Range<usize>) -> Range<usize> {
        let start = self.place(part.start);
        match part.end.checked_sub(1).filter(|last| *last >= part.start) {
            Some(last) => start..self.place(last) + 1,
            None => start..start,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::scan;

    #[test]
    fn the_shell_fills_in_what_is_not_quoted() {
        for (script, expected) in [
            ("a <<'E'\n\\$x $y\nE\n", "\\$x $y\n"),
            (
                "a <<E\n\\$x $y ${z} \\\\ \\`q\\` $1 \\n\nE\n",
                "$x $1y ${1z} \\ `q` $1 \\n\n",
            ),
            ("a <<E\nb \\\nc\nE\n", "b c\n"),
            ("a <<-E\n\t\tb\tc\n\t\n\tE\n", "b\tc\n\n"),
            ("a <<-'E'\n\tb\n\tE\n", "b\n"),
            ("a <<E\n", ""),
        ] {
            let found = scan(script.as_bytes());
            let body = Body::of(script.as_bytes(), &found.documents[0]);
            assert_eq!(String::from_utf8_lossy(&body.text), expected, "{script}");
        }
    }

    #[test]
    fn places_are_those_of_the_script() {
        let script = "a <<-E\n\tb \\$c\n\tE\n";
        let found = scan(script.as_bytes());
        let body = Body::of(script.as_bytes(), &found.documents[0]);
        assert_eq!(body.text, b"b $c\n");
        let part = |range| &script[body.range(&range)];
        assert_eq!((part(0..1), part(2..4), part(0..0)), ("b", "$c", ""));
    }
}
