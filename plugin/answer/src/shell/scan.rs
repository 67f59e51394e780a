//! The commands of a script: what separates them, the words that only structure the script, and the
//! parts that are no commands (comments, here-documents, redirections).

use super::blocks::{Open, OpenBlocks};
use super::{Commands, Document, Output, Simple, Unclosed, Word, line_of};

/// Reads a script, or a line.
pub(crate) fn scan(text: &[u8]) -> Commands {
    let mut scanner = Scanner::new(text, 0, 0);
    while !scanner.is_at_end() {
        // A bracket too many ends nothing here.
        scanner.list();
    }
    scanner.end(false);
    scanner.missing_documents();
    Commands {
        commands: scanner.found,
        comments: scanner.comments,
        blocks: scanner.open.into_blocks(),
        documents: scanner.bodies,
        unclosed: scanner.unclosed,
    }
}

/// The words that are expected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// A command's first word.
    #[default]
    Start,
    /// A command's words.
    Words,
    /// Words that are no command, up to the separator, such as those of `for`.
    Names,
    /// The name of a function.
    Function,
    /// The variable of `for` or `select`.
    Variable,
    /// The word of `case`, up to `in`.
    CaseWord,
}

#[derive(Default)]
pub(super) struct Scanner<'a> {
    pub text: &'a [u8],
    pub at: usize,
    pub depth: u32,
    pub unclosed: Option<Unclosed>,
    /// Whether `for` was the last word, whose `((…))` has semicolons.
    pub is_for: bool,
    found: Vec<Simple>,
    comments: Vec<usize>,
    words: Vec<Word>,
    state: State,
    open: OpenBlocks,
    /// Whether the last sign was `&&`, `||` or `|`: the list goes on behind a line break.
    goes_on: bool,
    /// Here-documents that begin after this line: the word that ends each, where it stands, and the
    /// position of the document in `bodies`.
    pub documents: Vec<(Word, usize)>,
    pub bodies: Vec<Document>,
    /// The current command's redirections.
    pub input: Option<usize>,
    pub outputs: Vec<Output>,
    /// The number before the next redirection, if there is one.
    pub descriptor: Option<String>,
    /// Where the current list began among what was found.
    since: usize,
    /// The last place of which the line was asked, and its line.
    line: (usize, usize),
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a [u8], at: usize, depth: u32) -> Self {
        Self {
            text,
            at,
            depth,
            line: (0, 1),
            ..Self::default()
        }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.peek_at(0)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.at + ahead).copied()
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    /// Reads up to a closing bracket of no one's, and that bracket; whether there was one.
    pub(super) fn list(&mut self) -> bool {
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'\\' if self.peek_at(1) == Some(b'\n') => self.at += 2,
                b'\\' if self.text.get(self.at + 1..self.at + 3) == Some(b"\r\n") => self.at += 3,
                b'\n' => self.newline(),
                b'#' => self.comment(),
                b';' => self.semicolon(),
                b'&' => self.ampersand(),
                b'|' => self.pipe(),
                b'(' => self.opening(),
                b')' => {
                    self.at += 1;
                    if self.closing() {
                        return true;
                    }
                }
                b'<' | b'>' if self.peek_at(1) != Some(b'(') => self.redirection(),
                _ => self.next_word(),
            }
        }
        self.end(false);
        false
    }

    fn comment(&mut self) {
        self.comments.push(self.at);
        while self.peek().is_some_and(|byte| byte != b'\n') {
            self.at += 1;
        }
    }

    fn newline(&mut self) {
        self.at += 1;
        self.end(false);
        if !self.goes_on {
            self.begin_list();
        }
        self.documents();
    }

    fn semicolon(&mut self) {
        self.end(false);
        self.begin_list();
        let is_branch_end = matches!(self.peek_at(1), Some(b';' | b'&'));
        while matches!(self.peek(), Some(b';')) || (is_branch_end && self.peek() == Some(b'&')) {
            self.at += 1;
        }
        if is_branch_end {
            self.open.next_pattern();
        }
    }

    fn ampersand(&mut self) {
        match self.peek_at(1) {
            Some(b'&') => {
                self.at += 2;
                self.end(false);
                self.open.begin_condition(true);
                self.goes_on = true;
            }
            Some(b'>') => {
                self.at += 1;
                self.redirection();
            }
            _ => {
                self.at += 1;
                self.end(true);
                self.begin_list();
            }
        }
    }

    fn pipe(&mut self) {
        let next = self.peek_at(1);
        self.at += 1 + usize::from(matches!(next, Some(b'|' | b'&')));
        match self.open.is_pattern() {
            true => self.words.clear(),
            false => {
                let before = self.found.len();
                self.end(false);
                self.goes_on = true;
                if next == Some(b'|') {
                    return self.open.begin_condition(false);
                }
                let ended = self.found.iter_mut().skip(before);
                ended.for_each(|command| command.is_piped = true);
            }
        }
    }

    fn opening(&mut self) {
        self.goes_on = false;
        let is_start = self.words.is_empty();
        if is_start
            && self.peek_at(1) == Some(b'(')
            && let Some(end) = self.arithmetic(self.at + 2)
        {
            self.calculation(end);
            return;
        }
        self.at += 1;
        if self.open.is_pattern() {
            return;
        }
        if self.words.len() <= 1 && self.peek() == Some(b')') {
            // The word before it is a function's name.
            self.at += 1;
            self.words.clear();
            self.state = State::Start;
            self.open.is_function = true;
            return;
        }
        self.end(false);
        self.open.push(Open::Group);
    }

    /// `((…))`, which is `let` with one word; `for` runs it before its loop.
    fn calculation(&mut self, end: usize) {
        let (first, inner) = (self.at..self.at + 2, self.at + 2..end - 2);
        let text = self.text.get(inner.clone()).unwrap_or_default();
        let word = |range, text: &[u8]| Word {
            range,
            text: String::from_utf8_lossy(text).into_owned(),
            is_computed: true,
            ..Word::default()
        };
        self.words.extend([word(first, b"let"), word(inner, text)]);
        self.at = end;
        if std::mem::take(&mut self.is_for) {
            return self.end(false);
        }
        // Nothing but a separator or a redirection may follow.
        self.state = State::Names;
    }

    /// A closing bracket; whether it is no one's.
    fn closing(&mut self) -> bool {
        if self.open.end_pattern() {
            self.words.clear();
            self.state = State::Start;
            return false;
        }
        self.end(false);
        self.begin_list();
        let is_group = self.open.close(|open| open == Open::Group);
        if is_group {
            // The words behind it belong to the group.
            self.state = State::Names;
        }
        !is_group
    }

    fn next_word(&mut self) {
        let word = self.word();
        let is_descriptor = word.is_plain && word.text.bytes().all(|byte| byte.is_ascii_digit());
        if is_descriptor && matches!(self.peek(), Some(b'<' | b'>')) {
            self.descriptor = Some(word.text);
            return;
        }
        if word.range.is_empty() {
            // Nothing was read, and the reading must go on.
            self.at += 1;
            return;
        }
        self.is_for = false;
        self.goes_on = false;
        match self.state {
            State::Start if word.is_plain && !word.is_computed => self.first(word),
            State::CaseWord => {
                if word.text == "in" {
                    self.open.push(Open::Case(true));
                    self.state = State::Start;
                }
            }
            State::Names => {}
            State::Function => {
                self.open.is_function = true;
                self.state = State::Start;
            }
            State::Variable => {
                self.open.variable = Some(word.text);
                self.state = State::Names;
            }
            State::Start | State::Words => self.push(word),
        }
    }

    fn push(&mut self, word: Word) {
        self.words.push(word);
        self.state = State::Words;
    }

    /// A word at a command's place, which may only structure the script.
    fn first(&mut self, word: Word) {
        if self.open.is_pattern() && word.text != "esac" {
            return self.push(word);
        }
        match word.text.as_str() {
            "then" | "while" | "until" | "!" | "time" | "coproc" => {}
            "elif" | "else" => self.open.next_branch(),
            "if" | "{" => self.open.push(Open::Branch),
            "do" => self.open.push(Open::Loop),
            "fi" | "}" => self.close(|open| open == Open::Branch),
            "done" => self.close(|open| open == Open::Loop),
            "esac" => self.close(|open| matches!(open, Open::Case(_))),
            "for" | "select" => {
                self.is_for = true;
                self.state = State::Variable;
            }
            "function" => self.state = State::Function,
            "case" => self.state = State::CaseWord,
            "[[" => self.test(),
            _ => return self.push(word),
        }
        self.since = self.found.len();
    }

    fn begin_list(&mut self) {
        self.since = self.found.len();
        self.open.end_list();
    }

    fn close(&mut self, is_it: impl Fn(Open) -> bool) {
        self.open.close(is_it);
        // The words behind it belong to the whole.
        self.state = State::Names;
    }

    /// Skips `[[ … ]]`, whose signs separate nothing.
    fn test(&mut self) {
        while let Some(byte) = self.peek() {
            if b" \t\r\n;&|()<>".contains(&byte) {
                self.at += 1;
                continue;
            }
            if self.word().text == "]]" {
                break;
            }
        }
        self.state = State::Names;
    }

    /// Ends the current command.
    pub(super) fn end(&mut self, in_background: bool) {
        let words = std::mem::take(&mut self.words);
        let (input, outputs) = (self.input.take(), std::mem::take(&mut self.outputs));
        self.state = State::Start;
        if let Some(first) = words.first() {
            let (from, line) = self.line;
            let start = first.range.start;
            let more = line_of(self.text.get(from..).unwrap_or_default(), start - from) - 1;
            self.line = (start, line + more);
            self.found.push(Simple {
                line: line + more,
                words,
                loops: self.open.loops(),
                block: self.open.block(),
                input,
                outputs,
                ..Simple::default()
            });
        }
        let since = self.since.min(self.found.len());
        for command in self.found.iter_mut().skip(since).filter(|_| in_background) {
            command.in_background = true;
        }
    }
}
