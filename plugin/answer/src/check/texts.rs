//! Commands within the words of another one: behind a program that only runs them, in a text for a shell, and in
//! substitutions. What may start tasks and is not read is named.

use super::script::Reader;
use super::variables::{Variable, assigned};
use crate::lines::base;
use crate::shell::{Simple, Word, scan, substitutions};
use crate::text::has_word;

/// Programs that run the command behind them, each with its options whose value is the next word, and with the number of
/// its own words in front of the command. `-p` stands behind the shell's own word `time`.
const WRAPPERS: [(&str, &str, usize); 12] = [
    ("-p", "", 0),
    ("command", "", 0),
    ("env", "-u --unset -C --chdir", 0),
    ("exec", "-a", 0),
    ("ionice", "-c --class -n --classdata", 0),
    ("nice", "-n --adjustment", 0),
    ("nohup", "", 0),
    ("setsid", "", 0),
    ("stdbuf", "-i --input -o --output -e --error", 0),
    ("sudo", "-u --user -g --group", 0),
    ("time", "-f --format -o --output", 0),
    ("timeout", "-k --kill-after -s --signal", 1),
];

/// Options of them with which they run no command, or in another environment, or split a word.
const UNREAD: &str = "-v -V -i - --ignore-environment -S --split-string";

/// Programs that only name what stands behind them.
const NAMING: &str = "echo printf which type command hash module ml man cat grep sed awk [ test";

/// Texts within each other that are read; an `eval` may hold itself.
const DEEPEST: u32 = 4;

impl Reader<'_> {
    /// The words of a command behind programs that only run it.
    pub(super) fn unwrapped<'w>(&mut self, mut words: &'w [Word]) -> &'w [Word] {
        while let Some((first, rest)) = words.split_first() {
            let mut all = WRAPPERS.iter();
            words = match all.find(|(name, ..)| *name == base(&first.text)) {
                Some((_, values, own)) => self.behind(rest, values, *own),
                None if self.assign(first) => rest,
                None => break,
            };
        }
        words
    }

    fn behind<'w>(&mut self, words: &'w [Word], values: &str, own: usize) -> &'w [Word] {
        let mut at = 0;
        while let Some(word) = words.get(at).filter(|word| word.text.starts_with('-')) {
            let text = word.text.as_str();
            if has_word(UNREAD, text) {
                return &[];
            }
            at += 1 + usize::from(has_word(values, text));
            let is_env = values.contains("--unset");
            let value = text.strip_prefix("--unset=").or(text.strip_prefix("-u"));
            if let Some(name) = value.filter(|name| is_env && !name.is_empty()) {
                self.variables.insert(name.into(), Variable::unset());
            }
            if is_env && ["-u", "--unset"].contains(&text) {
                self.unset(words.get(at - 1..at).unwrap_or_default());
            }
        }
        words.get(at + own..).unwrap_or_default()
    }

    /// The commands of a text that is a word, or words, of another command.
    pub(super) fn text_of(&mut self, words: &[Word], around: &Simple) {
        let texts: Vec<_> = words.iter().map(|word| word.text.as_str()).collect();
        let at = match words {
            [word] => self.inside(word, &word.text).map(|(at, _)| at),
            _ => None,
        };
        self.text(texts.join(" ").as_bytes(), at, around);
    }

    /// Commands of a text, which stands in the script at this place, or nowhere.
    pub(super) fn text(&mut self, text: &[u8], at: Option<usize>, around: &Simple) {
        if self.texts == DEEPEST {
            return;
        }
        let mut found = scan(text);
        for command in &mut found.commands {
            command.line = around.line;
            command.loops += around.loops;
            command.in_background |= around.in_background;
            for word in &mut command.words {
                word.is_plain &= at.is_some();
                word.range = match at {
                    Some(at) => word.range.start + at..word.range.end + at,
                    None => 0..0,
                };
            }
        }
        let known = self.found.unread.len();
        self.texts += 1;
        self.commands(&found);
        self.texts -= 1;
        if at.is_none() {
            let start = around.words.first().map_or(0, |word| word.range.start);
            let unread = self.found.unread.iter_mut().skip(known);
            unread.for_each(|(place, _)| *place = start);
        }
    }

    /// The substitutions in the words of a command; and whether it may start tasks that were not read.
    pub(super) fn in_words(&mut self, simple: &Simple, before: usize) {
        let outer = self.variables.clone();
        for word in simple.words.iter().filter(|word| word.is_computed) {
            let bytes = self.found.text.get(word.range.clone()).unwrap_or_default();
            let bytes = bytes.to_vec();
            for part in substitutions(&bytes) {
                let text = bytes.get(part.clone()).unwrap_or_default();
                self.text(text, Some(word.range.start + part.start), simple);
            }
        }
        self.variables = outer;
        let first = simple.words.first();
        let only_names = first.is_some_and(|word| has_word(NAMING, &word.text));
        let starts = |word: &&Word| {
            let is_text = only_names || assigned(&word.text).is_some();
            let runs = word.is_computed && word.text.contains(['(', '`']);
            (!is_text || runs) && names_srun(&word.text)
        };
        if self.read_count() == before && simple.words.iter().any(|word| starts(&word)) {
            let words = simple.words.iter();
            let words: Vec<_> = words
                .flat_map(|word| word.text.split_whitespace())
                .collect();
            let at = first.map_or(0, |word| word.range.start);
            self.found.unread.push((at, words.join(" ")));
        }
    }

    /// The number of commands and scripts that were found.
    pub(super) fn read_count(&self) -> usize {
        let found = &self.found;
        found.commands.len() + found.nested.len() + found.unread.len()
    }

    /// Where a quoted value stands, if its bytes are what the shell makes of it.
    pub(super) fn inside(&self, word: &Word, value: &str) -> Option<(usize, String)> {
        let bytes = self.found.text.get(word.range.clone())?;
        let quote = *bytes.last().filter(|byte| b"'\"".contains(byte))?;
        let end = bytes.len() - 1;
        let start = end.checked_sub(value.len())?;
        let is_same = bytes.get(start..end)? == value.as_bytes();
        // The quote opens before the value, or before the whole word.
        let is_whole = bytes.first() == Some(&quote) && !bytes.get(1..end)?.contains(&quote);
        let is_open = is_whole || start.checked_sub(1).and_then(|at| bytes.get(at)) == Some(&quote);
        (is_same && is_open).then(|| (word.range.start + start, value.into()))
    }
}

fn names_srun(text: &str) -> bool {
    let ends = |letter: char| letter.is_whitespace() || ";|&()`'\"${}=".contains(letter);
    text.split(ends).any(|word| base(word) == "srun")
}
