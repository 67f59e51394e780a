//! What was seen of a request, and whether it is what a fact says.

use super::pattern::is_like;
use crate::output::Done;

/// What srun and salloc write themselves while a job or a step waits for another one to end.
const WAITS: [&str; 3] = ["srun: job ", "srun: Job ", "srun: Step created for "];

/// How a request ended, and what was printed.
pub struct Outcome {
    done: Done,
    /// The printed lines with a blank between them, those of tasks in the tasks' order.
    answer: String,
    notes: Vec<String>,
}

impl Outcome {
    pub fn of(done: Done) -> Self {
        let notes = done
            .stderr
            .lines()
            .filter(|line| line.contains("berth: note:"));
        Self {
            notes: notes.map(String::from).collect(),
            answer: in_order(&done.stdout),
            done,
        }
    }

    /// What was printed, for people.
    pub fn shown(&self) -> String {
        let code = self.done.code.unwrap_or(-1);
        format!(
            "  seen = {}\n  exit {code}, stderr:\n{}",
            self.answer, self.done.stderr
        )
    }

    /// The answers that are others, with the slurmds' logs before the request and now.
    pub fn differences(&self, answers: &[(String, String)], logs: [&str; 2]) -> Vec<String> {
        let wrong = answers
            .iter()
            .filter(|(kind, text)| !self.is_seen(kind, text, logs));
        let mut wrong: Vec<_> = wrong
            .map(|(kind, text)| format!("  not  {kind} {text}"))
            .collect();
        let of_kind = |wanted: &str| {
            let found = answers.iter().filter(|(kind, _)| kind == wanted);
            found.map(|(_, text)| text.as_str()).collect::<Vec<_>>()
        };
        let is_refused = !of_kind("refused").is_empty();
        if !is_refused && of_kind("notes").is_empty() {
            wrong.extend(self.other_notes(&of_kind("!")));
        }
        if !is_refused && of_kind("exit").is_empty() && !self.done.ok() {
            wrong.push("  not  exit 0".into());
        }
        wrong
    }

    /// The notes have these texts, in this order, and there are no others.
    fn other_notes(&self, expected: &[&str]) -> Vec<String> {
        let mut wrong = Vec::new();
        for at in 0..expected.len().max(self.notes.len()) {
            match (expected.get(at), self.notes.get(at)) {
                (Some(text), Some(note)) if has(note, text) => {}
                (Some(text), _) => wrong.push(format!("  not  ! {text}")),
                (None, Some(note)) => wrong.push(format!("  also ! {note}")),
                (None, None) => {}
            }
        }
        wrong
    }

    fn is_seen(&self, kind: &str, text: &str, logs: [&str; 2]) -> bool {
        let Done {
            code,
            stdout,
            stderr,
        } = &self.done;
        let count = |log: &str| log.lines().filter(|line| has(line, text)).count();
        let in_log = |lines| {
            let [before, now] = logs.map(count);
            now == before + lines
        };
        match kind {
            "=" => is_like(&self.answer, text),
            "out" => has(stdout, text),
            "err" => has(stderr, text),
            "line" => {
                let mut lines = stdout.lines().chain(stderr.lines());
                lines.any(|line| is_like(line, text))
            }
            "once" => format!("{stdout}{stderr}").matches(text).count() == 1,
            "no" => !has(stdout, text) && !has(stderr, text),
            "quiet" => stderr.lines().all(is_waiting),
            "refused" => !self.done.ok() && stdout.is_empty() && has(stderr, text),
            "exit" => code.is_some_and(|code| code.to_string() == text),
            "log" => in_log(1),
            "no-log" => in_log(0),
            "!" if !self.notes.iter().any(|note| has(note, text)) => false,
            "!" | "notes" => true,
            _ => panic!("{kind}: no such answer"),
        }
    }
}

fn is_waiting(line: &str) -> bool {
    WAITS.iter().any(|begin| line.starts_with(begin))
}

/// The lines with a blank between them. Where each begins with the number of its task, that is left out.
fn in_order(text: &str) -> String {
    let split = |line| {
        let (task, rest) = str::split_once(line, ": ")?;
        Some((task.parse::<u32>().ok()?, rest))
    };
    let tasks: Option<Vec<_>> = text.lines().map(split).collect();
    let lines: Vec<_> = match tasks {
        Some(mut tasks) => {
            tasks.sort_unstable();
            tasks.into_iter().map(|(_, line)| line).collect()
        }
        None => text.lines().collect(),
    };
    lines.join(" ")
}

/// Whether a text has the parts of a pattern somewhere, in this order.
fn has(text: &str, pattern: &str) -> bool {
    is_like(text, &format!("…{pattern}…"))
}

#[cfg(test)]
mod tests {
    use super::Outcome;
    use crate::output::Done;

    /// A right answer, and changed ones, to the same outcome.
    const ANSWERS: [(&str, &str, &[&str]); 12] = [
        ("=", "0 1…", &["", "0", "0 1 x", "…x…", "1 0"]),
        ("out", "1: 1", &["1: 2"]),
        ("err", "note: b", &["note: c"]),
        ("line", "…note: a", &["note: a", "1"]),
        ("once", "note: a", &["note", "c"]),
        ("no", "c", &["b", "0: 0"]),
        ("exit", "0", &["1"]),
        ("log", "one", &["two", "none", "line"]),
        ("no-log", "none", &["line", "one"]),
        ("!", "note: a", &["note: b", "note: c"]),
        ("quiet", "", &[]),
        ("refused", "why", &["why not"]),
    ];

    fn differs(code: i32, stderr: &str, answers: &[(&str, &str)]) -> bool {
        let outcome = Outcome::of(Done {
            code: Some(code),
            stdout: if code == 0 { "1: 1\n0: 0\n" } else { "" }.into(),
            stderr: stderr.into(),
        });
        let answers = answers
            .iter()
            .map(|(kind, text)| ((*kind).into(), (*text).into()));
        let answers: Vec<_> = answers.collect();
        !outcome
            .differences(&answers, ["none\n", "none\nline one\nline\n"])
            .is_empty()
    }

    #[test]
    fn a_changed_answer_is_found() {
        let notes = "berth: note: a\nberth: note: b\n";
        let both = [("!", "a"), ("!", "b")];
        for (kind, right, changed) in ANSWERS {
            let (code, stderr, known) = match kind {
                "refused" => (1, "why\n", &[][..]),
                "quiet" => (0, "srun: job 7 queued and waiting for resources\n", &[][..]),
                "!" => (0, "berth: note: a\n", &[][..]),
                _ => (0, notes, &both[..]),
            };
            let is_other = |text| differs(code, stderr, &[known, &[(kind, text)]].concat());
            let right = if kind == "=" { "0 1" } else { right };
            assert!(!is_other(right), "{kind} {right}");
            for text in changed {
                assert!(is_other(text), "{kind} {text}");
            }
        }
        // A note that no fact names, too few of them, a failure, and a refusal that printed something.
        assert!(differs(0, notes, &[]));
        assert!(differs(0, "", &both));
        assert!(differs(0, notes, &[("!", "b"), ("!", "a")]));
        assert!(differs(1, "", &[("no", "x")]));
        assert!(differs(0, "why\n", &[("refused", "why")]));
        assert!(differs(0, "berth: note: a\n", &[("!", "a"), ("quiet", "")]));
    }
}
