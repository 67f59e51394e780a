//! A request with its answers, and whether the command gives them.

use std::path::Path;

use serde_json::Value;

use crate::run::{Done, command, output, rules_of};

/// A request, and what is known of its answer.
#[derive(Default)]
pub struct Case {
    /// The number of its line in the file.
    number: usize,
    words: Vec<String>,
    input: String,
    /// What the command prints, and what `berth check` finds and corrects: a kind of answer and its text.
    printed: Vec<(String, String)>,
    finds: Option<String>,
    corrected: Option<String>,
    /// What is found in the corrected text.
    left: String,
    code: i32,
}

impl Case {
    pub fn new(number: usize, words: Vec<String>) -> Self {
        Self {
            number,
            words,
            ..Self::default()
        }
    }

    /// Whether it has no answer yet.
    pub fn is_open(&self) -> bool {
        self.printed.is_empty() && self.finds.is_none() && self.corrected.is_none()
    }

    /// Adds a line on stdin.
    pub fn input(&mut self, line: &str) {
        self.input += &format!("{line}\n");
    }

    /// Adds an answer.
    pub fn answer(&mut self, kind: &str, text: &str) {
        match kind {
            "exit" => self.code = text.parse().unwrap(),
            "finds" => self.finds = Some(text.into()),
            "kept" => self.corrected = Some(self.input.clone()),
            ">" => *self.corrected.get_or_insert_default() += &format!("{text}\n"),
            "leaves" => self.left = text.into(),
            "refused" => self.code = 1,
            "wrong" => self.code = 2,
            _ => {}
        }
        if !["finds", "kept", ">", "leaves"].contains(&kind) {
            let needs_text = !["=", "exit", "stderr"].contains(&kind);
            assert!(!needs_text || !text.is_empty(), "line {}", self.number);
            match self.printed.last_mut() {
                Some((last, lines)) if kind == "=" && last == "=" => *lines += &format!(" {text}"),
                _ => self.printed.push((kind.into(), text.into())),
            }
        }
    }

    fn run(&self, folder: &Path, more: &[&str], input: &str) -> Done {
        let mut command = command();
        let is_word = |word: &&String| word.starts_with(|first: char| first.is_ascii_lowercase());
        let begin = self.words.iter().position(|word| is_word(&word)).unwrap();
        for variable in &self.words[..begin] {
            let (name, value) = variable.split_once('=').unwrap();
            command.env(name, value);
        }
        // What stands behind a line belongs to that.
        command.arg(&self.words[begin]).args(more);
        command.args(&self.words[begin + 1..]).current_dir(folder);
        Done::of(output(&mut command, input.as_bytes()))
    }

    /// The answers that are others, each with what there is instead.
    pub fn differences(&self, file: &str, folder: &Path) -> Vec<String> {
        assert!(!self.is_open(), "{file}:{}: no answer", self.number);
        let mut found = Vec::new();
        if !self.printed.is_empty() {
            let done = self.run(folder, &[], &self.input);
            found.extend(self.printed_differently(&done));
        }
        if let Some(expected) = &self.finds {
            let done = self.run(folder, &["--format=json"], &self.input);
            let (rules, code) = (rules_of(&done).join(" "), code_of(expected));
            if rules != *expected || done.code != code {
                found.push(format!(
                    "finds {expected}\n  not {rules}, exit {}",
                    done.code
                ));
            }
        }
        if let Some(expected) = &self.corrected {
            let corrected = self.run(folder, &["--format=script"], &self.input).stdout;
            let left = rules_of(&self.run(folder, &["--format=json"], &corrected)).join(" ");
            if corrected != *expected || corrected != self.input && left != self.left {
                found.push(format!("> {expected}\n  not {corrected}leaves {left}"));
            }
        }
        let about = format!("{file}:{}: berth {}", self.number, self.words.join(" "));
        found
            .iter()
            .map(|what| format!("{about}\n{}  expected {what}\n", self.input))
            .collect()
    }

    fn printed_differently(&self, done: &Done) -> Option<String> {
        let wrong = self
            .printed
            .iter()
            .filter(|(kind, text)| !is_printed(done, kind, text));
        let mut wrong: Vec<_> = wrong.map(|(kind, text)| format!("{kind} {text}")).collect();
        // What check judges has its exit code from that.
        let code = self.finds.as_deref().map_or(self.code, code_of);
        if done.code != code {
            wrong.push(format!("exit {code}"));
        }
        let Done {
            code,
            stdout,
            stderr,
        } = done;
        let shown = format!("  exit {code}\n{stdout}{stderr}");
        (!wrong.is_empty()).then(|| format!("{}\n{shown}", wrong.join("\n  expected ")))
    }
}

/// The exit code of a check that finds these rules: hints are no fault.
fn code_of(rules: &str) -> i32 {
    i32::from(rules.split_whitespace().any(|rule| !rule.ends_with('?')))
}

/// A value of a document as text. A `*` in a pointer stands for each value of a list.
fn value(document: &Value, pointer: &str) -> String {
    if let Some((list, rest)) = pointer.split_once("/*") {
        let values = document.pointer(list).and_then(Value::as_array);
        let values = values.into_iter().flatten();
        let values: Vec<_> = values.map(|one| value(one, rest)).collect();
        return values.join(" ");
    }
    match document.pointer(pointer) {
        None => "absent".into(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    }
}

/// Whether an answer is in what was printed.
fn is_printed(done: &Done, kind: &str, text: &str) -> bool {
    let joined = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines = |text: &str| text.lines().collect::<Vec<_>>().join(" ");
    let both = || format!("{}{}", done.stdout, done.stderr);
    match kind {
        "=" => lines(&done.stdout) == text,
        "stderr" => lines(&done.stderr) == text,
        "out" => done.stdout.contains(text),
        "err" => done.stderr.contains(text),
        "row" => done.stdout.lines().any(|line| joined(line) == text),
        "once" => both().matches(text).count() == 1,
        "no" => !both().contains(text),
        "refused" | "wrong" => done.stdout.is_empty() && done.stderr.contains(text),
        "json" | "has" | "lacks" => is_in_document(&done.stdout, kind, text),
        "exit" => true,
        _ => panic!("{kind}: no such answer"),
    }
}

fn is_in_document(document: &str, kind: &str, text: &str) -> bool {
    let (pointer, part) = text.split_once(' ').unwrap();
    assert!(!part.is_empty(), "{kind} {text}: no value");
    let Ok(document) = serde_json::from_str(document) else {
        return false;
    };
    let value = value(&document, pointer);
    match kind {
        "json" => value == part,
        "has" => value.contains(part),
        _ => !value.contains(part),
    }
}
