//! Scripts within a script: a here-document that sbatch, salloc or a shell reads, and the file that a line of sbatch
//! names. Their words are moved to where they stand in the script around them, so that single words can be changed
//! there; words of another file stand nowhere. [`Body`] is a here-document as the program gets it, with the place of
//! every byte in the script around it.

use std::ops::Range;
use std::rc::Rc;

use berth_srun::Program;
use berth_srun::line::read;

use super::command::{Command, Kind};
use super::script::{Reader, Role, Script};
use crate::lines::base;
use crate::shell::{Document, Simple, Word};

/// The deepest script that is read.
const DEEPEST: u32 = 4;

/// The most scripts within one.
const MOST: usize = 64;

/// Programs that run what they read.
const SHELLS: &[&str] = &["bash", "sh", "ksh", "zsh", "dash"];

/// A script's text.
enum Source {
    Document(usize),
    File(String, Rc<[u8]>),
}

/// A shell that reads its commands from its input: no file and no `-c` stands behind it.
fn reads_input(name: &str, words: &[Word]) -> bool {
    let is_option = |word: &Word| word.text.starts_with('-');
    let options: Vec<_> = words.iter().take_while(|word| is_option(word)).collect();
    let has = |letter: char| {
        let mut short = options.iter().filter(|word| !word.text.starts_with("--"));
        short.any(|word| word.text.contains(letter))
    };
    let is_all = options.len() == words.len() || has('s');
    SHELLS.contains(&base(name)) && is_all && !has('c')
}

fn file_name(text: &str) -> &str {
    text.strip_prefix("./").unwrap_or(text)
}

impl Reader<'_> {
    /// A shell that runs a here-document, or the text behind `-c`.
    pub(super) fn in_shell(
        &mut self,
        name: &str,
        words: &[Word],
        input: Option<usize>,
        around: &Simple,
    ) {
        if reads_input(name, words) {
            return self.part(input);
        }
        let is_option = |word: &&Word| word.text.starts_with('-');
        let is_text = |word: &Word| is_option(&word) && word.text.ends_with('c');
        let mut behind = words.iter().skip_while(|word| is_option(word));
        let options = words.iter().take_while(is_option);
        if SHELLS.contains(&base(name))
            && options.into_iter().any(is_text)
            && let Some(text) = behind.next()
        {
            self.text_of(std::slice::from_ref(text), around);
        }
    }

    /// A here-document whose commands run here.
    pub(super) fn part(&mut self, input: Option<usize>) {
        let source = input.map(Source::Document);
        let Some(mut script) = source.and_then(|source| self.nested(source, Role::Part)) else {
            return;
        };
        script.job.clone_from(&self.found.job);
        script.has_components = self.found.has_components;
        self.found.nested.push(script);
    }

    /// A step, whose shell may run a here-document in every task.
    pub(super) fn step(&mut self, command: Command, input: Option<usize>) {
        let program = command.program().split_first();
        let is_shell = program.is_some_and(|(name, rest)| reads_input(&name.text, rest));
        let source = input.filter(|_| is_shell).map(Source::Document);
        self.found.commands.push(command);
        let script = source.and_then(|source| self.nested(source, Role::InTasks));
        self.found.nested.extend(script);
    }

    /// The script that a line of sbatch submits. The line's options override the script's.
    pub(super) fn submit(&mut self, line: &mut Command, input: Option<usize>) {
        let source = match line.program().first() {
            None => input.map(Source::Document),
            Some(word) => self.file(&word.clone()),
        };
        let Some(mut script) = source.and_then(|source| self.nested(source, Role::Submitted))
        else {
            return;
        };
        line.is_known_job = true;
        script.directives = script.job.take();
        script.has_components |= line.line.more;
        script.job = Some(self.merged(script.directives.as_ref(), line));
        self.found.nested.push(script);
    }

    /// The file of that name: what this script has written, or what is there.
    fn file(&mut self, word: &Word) -> Option<Source> {
        let name = word.text.as_str();
        let mut not_read = |why: &str| {
            self.found
                .not_read
                .push(format!("{name} was not read: {why}"));
            None
        };
        if word.is_computed {
            return not_read("only the shell knows which file it is");
        }
        match self.written.get(file_name(name)) {
            Some(Some(document)) => return Some(Source::Document(*document)),
            Some(None) => return not_read("the script writes it before"),
            None => {}
        }
        // A job file's own jobs are others'.
        (self.depth == 0).then_some(())?;
        match self.around.script(name)? {
            Ok(text) => Some(Source::File(name.into(), text.into())),
            Err(why) => not_read(&why),
        }
    }

    /// The directives and the line as one line, whose last options count.
    fn merged(&self, directives: Option<&Command>, line: &Command) -> Command {
        let options = directives.filter(|one| one.program().is_empty());
        let words = options.into_iter().flat_map(|one| &one.words);
        let words: Vec<_> = words.chain(&line.words).cloned().collect();
        let texts: Vec<_> = words.iter().map(|word| word.text.as_str()).collect();
        Command {
            line: read(&texts, Program::Sbatch, Some(self.around.release)),
            words,
            ..line.clone()
        }
    }

    /// Reads a script within this one, and moves its words to their places here.
    fn nested(&self, source: Source, role: Role) -> Option<Script> {
        let has_room = self.depth < DEEPEST && self.found.nested.len() < MOST;
        has_room.then_some(())?;
        let read = |text: &[u8]| {
            let mut reader = Reader::new(text, self.around, self.depth + 1);
            reader.variables.clone_from(&self.variables);
            reader.found.role = role;
            if role == Role::Part {
                reader.found.all.clone_from(&self.found.all);
            }
            reader.read()
        };
        match source {
            Source::Document(number) => {
                let body = Body::of(&self.found.text, self.documents.get(number)?);
                let mut script = read(&body.text);
                script.moved(&body, &self.found.text);
                Some(script)
            }
            Source::File(name, text) => {
                let mut script = read(&text);
                script.is_elsewhere(&name, &self.found.text);
                Some(script)
            }
        }
    }

    /// Notes the files that a command writes, and the here-document that it passes on.
    pub(super) fn writes(&mut self, simple: &Simple, name: &Word, words: &[Word]) {
        let is_cat = base(&name.text) == "cat" && words.is_empty();
        let document = simple.input.filter(|_| is_cat);
        if simple.is_piped {
            self.piped = document;
        }
        let is_tee = base(&name.text) == "tee";
        let files = words
            .iter()
            .filter(|word| is_tee && !word.text.starts_with('-'));
        let content = if is_tee { simple.input } else { document };
        let appends = words.iter().any(|word| word.text == "-a");
        let files = files.map(|file| (file, appends));
        let outputs = simple.outputs.iter().map(|one| (&one.file, one.appends));
        for (file, appends) in files.chain(outputs).filter(|(file, _)| !file.is_computed) {
            let content = content.filter(|_| !appends && simple.loops == 0);
            self.written.insert(file_name(&file.text).into(), content);
        }
    }
}

impl Script {
    /// Moves everything to its place in the text around it.
    fn moved(&mut self, body: &Body, text: &Rc<[u8]>) {
        let starts = line_starts(text);
        let line = |at: usize| starts.partition_point(|start| *start <= at);
        if self.file.is_none() {
            self.text = Rc::clone(text);
            let word = |word: &mut Word| {
                word.range = body.range(&word.range);
                let bytes = text.get(word.range.clone());
                word.is_plain &= bytes == Some(word.text.as_bytes());
            };
            for command in self.own_commands() {
                command.each_word(&word);
                let first = command.words.first().unwrap_or(&command.name);
                let start = match command.name.range.is_empty() {
                    true => first.range.start,
                    false => command.name.range.start,
                };
                command.number = line(start);
                for variable in command.variables.values_mut() {
                    variable.end = None;
                }
            }
            let place = |at: &mut usize| *at = body.place(*at);
            self.first_command.iter_mut().for_each(place);
            self.late.iter_mut().for_each(place);
            self.unread.iter_mut().for_each(|(at, _)| place(at));
            let part = |part: &mut Range<usize>| *part = body.range(part);
            self.indented.iter_mut().for_each(part);
            if let Some(unclosed) = &mut self.unclosed {
                place(&mut unclosed.at);
            }
        }
        for one in &mut self.nested {
            one.moved(body, text);
        }
    }

    /// Marks every word as one of another file, because a repair never changes such words.
    fn is_elsewhere(&mut self, name: &str, around: &Rc<[u8]>) {
        self.file = Some(name.into());
        self.file_text = Some(std::mem::replace(&mut self.text, Rc::clone(around)));
        let word = |word: &mut Word| {
            word.range = 0..0;
            word.is_plain = false;
        };
        for command in self.own_commands() {
            command.each_word(&word);
        }
        for one in &mut self.nested {
            one.is_elsewhere(name, around);
        }
    }

    fn own_commands(&mut self) -> impl Iterator<Item = &mut Command> {
        let jobs = self.job.iter_mut().chain(&mut self.components);
        jobs.chain(&mut self.directives).chain(&mut self.commands)
    }

    /// Whether its commands, or those of its parts, start tasks.
    pub(crate) fn launches(&self) -> bool {
        let starts = |command: &Command| matches!(command.kind, Kind::Srun | Kind::Mpirun);
        let parts = self.nested.iter().filter(|one| one.role == Role::Part);
        self.commands.iter().any(starts) || parts.into_iter().any(Self::launches)
    }
}

impl Command {
    fn each_word(&mut self, change: &impl Fn(&mut Word)) {
        // A directive has no name.
        if !self.name.range.is_empty() {
            change(&mut self.name);
        }
        self.words.iter_mut().for_each(change);
    }
}

/// Where each line begins.
fn line_starts(text: &[u8]) -> Vec<usize> {
    let ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    std::iter::once(0)
        .chain(ends.map(|(at, _)| at + 1))
        .collect()
}

/// The text of a here-document, and where each byte of it stands.
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
