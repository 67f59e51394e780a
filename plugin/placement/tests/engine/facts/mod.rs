//! Facts as machine, request, answer: one line each in the text files beside this one.
//!
//! ```text
//! let two = 2x4x2                  # a machine that has a name
//! machine two                      # the machine of the next lines; several lines are several machines
//! with -m block:block              # words that stand before each of the next requests
//! -n2 --cpu-bind=cores = 0-1 2-3   # a request, and the CPUs of each task; 0-1*3 is three tasks
//! -n9 -O = 0-1*9 ! 9 tasks on…     # behind each ! a note to the user, and there are no others
//! -n9 = refused: 9 tasks…
//! -n2 --binding=auto = … @rule auto
//! -n2 --cores=0-7/8 == -n2         # both get the same answer
//! ```
//!
//! `…` stands for any text. A line that begins with blanks goes on with the one before. `notes any` leaves the notes of
//! a file open.

#[path = "../../../../discover/tests/common/facts.rs"]
pub mod lines;
mod views;

use std::fmt::Write;

use berth_placement::Node;

use crate::harness::ask::Ask;
use crate::harness::machine_text::{Host, host};
use lines::is_like;
use views::Outcome;

macro_rules! facts {
    ($($name:ident: $file:literal,)*) => {
        $(#[test]
        fn $name() {
            all_hold($file, include_str!($file));
        })*
    };
}

facts! {
    levels_and_lists: "levels.txt",
    notes_and_refusals: "notes.txt",
    irregular_machines: "irregular.txt",
    cgroups_with_fewer_cpus: "cgroups.txt",
    counted_cores: "counted_cores.txt",
    isolated_cpus_and_kinds: "preferred.txt",
    bindings: "binding.txt",
    shares: "share.txt",
    near_devices: "near.txt",
    near_narrows: "narrow.txt",
    published_lists: "published.txt",
    mappings: "mapping.txt",
    grammar_of_mappings: "grammar.txt",
    answers_of_prrte: "prrte.txt",
    memory: "memory.txt",
    cpusets: "cpuset.txt",
    figures: "quality.txt",
}

/// What the lines so far have set.
#[derive(Default)]
struct Reader<'a> {
    named: Vec<(&'a str, &'a str)>,
    hosts: Vec<(&'a str, Host)>,
    /// Whether the last line named a machine too.
    adds_hosts: bool,
    with: &'a str,
    notes_are_open: bool,
    facts: usize,
    wrong: String,
}

fn all_hold(file: &str, text: &str) {
    let mut reader = Reader::default();
    let mut lines = text.lines().zip(1..).peekable();
    while let Some((line, number)) = lines.next() {
        let mut whole = line.to_owned();
        while let Some((more, _)) = lines.next_if(|(line, _)| line.starts_with(' ')) {
            whole = format!("{whole} {}", more.trim());
        }
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if !reader.set(line) {
            reader.try_fact(&whole, &format!("{file}:{number}"));
        }
    }
    assert!(reader.facts > 0, "{file} has no fact");
    assert!(reader.wrong.is_empty(), "\n{}", reader.wrong);
}

impl<'a> Reader<'a> {
    /// Takes a line that is no fact.
    fn set(&mut self, line: &'a str) -> bool {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "let" => self.named.extend(rest.split_once(" = ")),
            "with" => self.with = rest,
            "notes" => self.notes_are_open = rest == "any",
            "machine" => {
                if !self.adds_hosts {
                    self.hosts.clear();
                }
                let known = self.named.iter().find(|(name, _)| *name == rest);
                self.hosts
                    .push((rest, host(known.map_or(rest, |(_, text)| text))));
            }
            _ => {}
        }
        self.adds_hosts = word == "machine";
        ["let", "with", "notes", "machine"].contains(&word)
    }

    fn try_fact(&mut self, line: &str, place: &str) {
        for (name, host) in &self.hosts {
            self.facts += 1;
            let outcome = |request: &str| self.outcome(host, request);
            let found = if let Some((request, other)) = line.split_once(" == ") {
                let (one, other) = (outcome(request), outcome(other));
                (one.text("") != other.text("")).then(|| (request, one.text("")))
            } else {
                let (request, expected) = line.split_once(" = ").unwrap_or((line, ""));
                let outcome = outcome(request);
                let holds = self.holds(&outcome, expected);
                (!holds).then(|| (request, outcome.text(expected)))
            };
            if let Some((request, found)) = found {
                let wrong = &mut self.wrong;
                let _ = write!(
                    wrong,
                    "{place}: {name}\n  fact  {line}\n  found {request} = {found}\n"
                );
            }
        }
    }

    fn outcome(&self, host: &Host, request: &str) -> Outcome {
        let ask = format!("{} {request}", self.with).parse::<Ask>();
        let ask = ask.map_err(|why| format!("refused: {why}"));
        let known = |ask: &Ask| ask.node(&host.machine, host.kind, host.shape.clone());
        let node = |ask: &Ask| match host.is_unknown {
            true => Node::new(known(ask).shape().clone(), None, host.kind, ask.rules),
            false => known(ask),
        };
        let node = ask.as_ref().map_or_else(|_| node(&Ask::default()), node);
        let mapping = ask
            .as_ref()
            .ok()
            .and_then(|ask| ask.request.mapping.as_ref());
        let mapping = mapping.map_or("none".into(), ToString::to_string);
        let plan = ask.as_ref().ok().map(|ask| ask.plan(&node));
        Outcome {
            why: ask.err(),
            plan,
            node,
            mapping,
        }
    }

    fn holds(&self, outcome: &Outcome, expected: &str) -> bool {
        let mut parts = expected.split(" ! ");
        let mut views = parts.next().unwrap_or_default().split(" @");
        let masks = expanded(views.next().unwrap_or_default());
        let is_view = |text: &str| {
            let (name, value) = text.split_once(' ').unwrap_or((text, ""));
            is_like(&outcome.view(name), value)
        };
        let notes: Vec<&str> = parts.collect();
        let found = outcome.notes();
        let mut both = notes.iter().zip(&found);
        let are_notes = notes.len() == found.len() && both.all(|(one, found)| is_like(found, one));
        is_like(&outcome.masks(), &masks)
            && views.all(is_view)
            && (are_notes || self.notes_are_open)
    }
}

/// `0-1*3` as `0-1 0-1 0-1`; a refusal stays as it is.
fn expanded(masks: &str) -> String {
    if masks.starts_with("refused") {
        return masks.into();
    }
    let each = masks.split(' ').flat_map(|mask| {
        let (mask, count) = mask.split_once('*').unwrap_or((mask, "1"));
        std::iter::repeat_n(mask, count.parse().expect("a number of tasks"))
    });
    each.collect::<Vec<_>>().join(" ")
}
