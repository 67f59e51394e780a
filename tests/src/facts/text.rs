//! Reads the files of facts about commands: the lines that every such file may have.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::case::Case;

/// What a file has, in its order.
pub enum Step {
    /// Words for the requests below.
    Use,
    File {
        name: String,
        text: String,
    },
    Setting {
        kind: String,
        text: String,
    },
    Request(Case),
}

/// The words of the command around those of a request: where it has a `…`, or behind it.
fn words(context: &str, request: &str) -> Vec<String> {
    let split = |text| shlex::split(text).unwrap_or_else(|| panic!("{text}: a quote is open"));
    let words = split(context);
    if context.contains("{}") {
        let words = words.iter().map(|word| word.replace("{}", request));
        return words.collect();
    }
    let own = split(request);
    // Variables of a request stand in front of the command.
    let is_variable = |word: &&String| {
        let name = word.split_once('=').map_or("", |(name, _)| name);
        name.starts_with(|first: char| first.is_ascii_uppercase()) && !word.contains(' ')
    };
    let (variables, own) = own.split_at(own.iter().take_while(is_variable).count());
    let mut parts = words.split(|word| word == "…");
    let (before, behind) = (parts.next().unwrap_or_default(), parts.next());
    [variables, before, own, behind.unwrap_or_default()].concat()
}

/// What the lines so far have brought.
struct Reader {
    steps: Vec<Step>,
    /// Names with the texts that they stand for.
    named: Vec<(String, String)>,
    /// The words of the last `use` lines, one with each of which a request is made.
    contexts: Vec<String>,
}

/// The files and requests of a text, and the lines that begin with one of these settings. Some names stand for a text
/// already. Below several `use` lines in a row each request is several.
///
/// # Panics
/// If a line has no meaning.
pub fn parse(text: &str, settings: &[&str], named: &[(&str, &str)]) -> Vec<Step> {
    let known = named
        .iter()
        .map(|(name, text)| (format!("@{name}"), (*text).into()));
    let mut reader = Reader {
        steps: Vec::new(),
        named: known.collect(),
        contexts: vec![String::new()],
    };
    for (line, number) in text.lines().zip(1..) {
        let replace = |line: String, (name, text): &(String, String)| line.replace(name, text);
        let line = reader.named.iter().fold(line.to_owned(), replace);
        let (kind, rest) = line.split_once(' ').unwrap_or((&line, ""));
        if settings.contains(&kind) {
            reader.steps.push(Step::Setting {
                kind: kind.into(),
                text: rest.into(),
            });
        } else {
            let is_known = reader.take(kind, rest, number);
            assert!(is_known, "line {number}: {line}");
        }
    }
    reader.steps
}

impl Reader {
    /// Whether a line has a meaning.
    fn take(&mut self, kind: &str, rest: &str, number: usize) -> bool {
        match (kind, self.steps.last_mut()) {
            ("" | "#", _) => {}
            ("let", _) => {
                let (name, text) = rest.split_once(" = ").expect("let NAME = TEXT");
                self.named.push((format!("@{name}"), text.into()));
            }
            ("use", last) => {
                if !matches!(last, Some(Step::Use)) {
                    self.contexts.clear();
                }
                self.contexts.push(rest.into());
                self.steps.push(Step::Use);
            }
            ("file", _) => self.steps.push(Step::File {
                name: rest.into(),
                text: String::new(),
            }),
            ("|", Some(Step::File { text, .. })) => *text += &format!("{rest}\n"),
            ("$", _) => {
                let (request, answer) = rest.split_once("=> ").unwrap_or((rest, ""));
                self.request(number, request);
                if !answer.is_empty() {
                    self.each_last(|case| case.answer("=", answer));
                }
            }
            ("&", _) => {
                self.request(number, rest);
                self.each_last(|case| case.answer(kind, "goes on"));
            }
            ("<", Some(Step::Request(case))) if case.is_open() => {
                self.each_last(|case| case.input(rest));
            }
            ("<", _) => {
                self.request(number, "");
                self.each_last(|case| case.input(rest));
            }
            (_, Some(Step::Request(_))) => self.each_last(|case| case.answer(kind, rest)),
            _ => return false,
        }
        true
    }

    fn request(&mut self, number: usize, request: &str) {
        for context in &self.contexts {
            let case = Case::new(number, words(context, request));
            self.steps.push(Step::Request(case));
        }
    }

    /// Does something to the requests of the last line that has some.
    fn each_last(&mut self, change: impl Fn(&mut Case)) {
        for step in self.steps.iter_mut().rev().take(self.contexts.len()) {
            if let Step::Request(case) = step {
                change(case);
            }
        }
    }
}

/// Writes a file, which may also be a program.
///
/// # Panics
/// If it cannot be written.
pub fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
