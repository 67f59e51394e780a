//! The `#SBATCH` lines of a batch script, taken apart as sbatch does it.
//! In: the script's bytes. Out: the words of each line with their places, so that a caller can say
//! where an option stands. Source: `_opt_batch_script` and `get_argument` of sbatch.

use std::ops::Range;

/// A word of a directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The word without its quotes.
    pub text: String,
    /// Its bytes in the script, with its quotes.
    pub range: Range<usize>,
}

/// One line of options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directive {
    /// The number of its line, from 1.
    pub line: usize,
    /// Its options.
    pub words: Vec<Word>,
    /// Whether it begins another component of the job (`#SBATCH hetjob`).
    pub begins_component: bool,
    /// Whether a quote stays open, which ends sbatch.
    pub is_unclosed: bool,
}

/// The directives of a script, up to its first command, where sbatch stops.
#[must_use]
pub fn directives(script: &[u8]) -> Vec<Directive> {
    let mut found = Vec::new();
    let mut start = 0;
    for (at, line) in script.split(|byte| *byte == b'\n').enumerate() {
        let rest = line
            .strip_prefix(b"#SBATCH")
            .or_else(|| line.strip_prefix(b"#SLURM"));
        if let Some(rest) = rest {
            let from = start + line.len() - rest.len();
            found.push(directive(at + 1, from, rest));
        } else if is_command(line) {
            break;
        }
        start += line.len() + 1;
    }
    found
}

/// Why sbatch takes a text for no batch script. Source: `get_script_buffer` of sbatch.
#[must_use]
pub fn refused_script(script: &[u8]) -> Option<&'static str> {
    let has_lines = || script.windows(2).any(|two| two == b"\r\n");
    match script {
        [] => Some("Batch script is empty!"),
        _ if script.iter().all(|byte| is_space(*byte)) => {
            Some("Batch script contains only whitespace!")
        }
        _ if !script.starts_with(b"#!") => Some(
            "This does not look like a batch script. The first line must start with #! followed by the path to an \
             interpreter.",
        ),
        _ if script.contains(&0) => {
            Some("The Slurm controller does not allow scripts that contain a NULL character '\\0'.")
        }
        _ if has_lines() => Some(DOS_LINES),
        _ => None,
    }
}

/// The refusal of a script that another system's editor has written.
pub const DOS_LINES: &str =
    "Batch script contains DOS line breaks (\\r\\n) instead of expected UNIX line breaks (\\n).";

fn is_command(line: &[u8]) -> bool {
    let first = line.iter().find(|byte| !is_space(**byte));
    first.is_some_and(|byte| *byte != b'#')
}

/// `isspace` in the C locale.
fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

fn directive(line: usize, from: usize, text: &[u8]) -> Directive {
    let mut directive = Directive {
        line,
        words: Vec::new(),
        begins_component: false,
        is_unclosed: false,
    };
    let mut reader = Reader { text, at: 0 };
    while let Some((bytes, range, is_closed)) = reader.word() {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        directive.is_unclosed |= !is_closed;
        let is_mark = ["hetjob", "packjob"]
            .iter()
            .any(|mark| text.eq_ignore_ascii_case(mark));
        if is_mark {
            directive.begins_component = true;
            continue;
        }
        directive.words.push(Word {
            text,
            range: from + range.start..from + range.end,
        });
    }
    directive
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    /// The next word, its place, and whether its quotes are closed. A `#` outside of quotes begins
    /// a comment, also within a word.
    fn word(&mut self) -> Option<(Vec<u8>, Range<usize>, bool)> {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
        let start = self.at;
        let (mut bytes, mut quote) = (Vec::new(), None);
        while let Some(byte) = self.peek() {
            match (quote, byte) {
                (None, byte) if is_space(byte) => break,
                (None, b'#') => break,
                (_, b'\\') => {
                    // An escaped blank ends the word all the same.
                    let next = self.text.get(self.at + 1).copied();
                    let next = next.filter(|next| quote.is_some() || !is_space(*next));
                    self.at += usize::from(next.is_some());
                    bytes.extend(next);
                }
                (Some(open), byte) if byte == open => quote = None,
                (None, b'"' | b'\'') => quote = Some(byte),
                _ => bytes.push(byte),
            }
            self.at = (self.at + 1).min(self.text.len());
        }
        let is_closed = quote.is_none();
        // sbatch ends at an empty word, so an empty pair of quotes hides what follows.
        (!bytes.is_empty()).then_some((bytes, start..self.at, is_closed))
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_are_no_batch_scripts() {
        for (text, why) in [
            (&b""[..], Some("is empty")),
            (b" \n\x0b", Some("only whitespace")),
            (b"\n#!/bin/sh\n", Some("The first line must start with #!")),
            (b"#!/bin/sh\r\nx\0", Some("NULL character '\\0'")),
            (b"#!/bin/sh\ntrue\r\n", Some("DOS line breaks (\\r\\n)")),
            (b"#!/bin/sh\necho \r", None),
            (b"#!", None),
        ] {
            let found = refused_script(text);
            assert_eq!(found.is_some(), why.is_some(), "{text:?}");
            assert!(
                found.unwrap_or_default().contains(why.unwrap_or_default()),
                "{found:?}"
            );
        }
    }

    proptest::proptest! {
        #![proptest_config(crate::random::config(256))]

        /// Words lie in the script, one behind the other.
        #[test]
        fn any_script_is_read(text in "([ -~]|\\n|é|#SBATCH |-n|'|\"|\\\\){0,80}") {
            let mut last = 0;
            for word in directives(text.as_bytes()).iter().flat_map(|line| &line.words) {
                proptest::prop_assert!(word.range.start >= last && word.range.end <= text.len());
                proptest::prop_assert!(word.range.start < word.range.end);
                last = word.range.end;
            }
        }
    }
}
