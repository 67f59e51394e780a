//! srun's command line as words: its options by their long names, and where the program begins.
//! Options that berth knows nothing of are only stepped over.

use std::collections::BTreeMap;
use std::ops::Range;

/// Short options that take a value, with their long names.
const WITH_VALUE: &[(char, &str)] = &[
    ('A', "account"),
    ('a', "array"),
    ('b', "begin"),
    ('B', "extra-node-info"),
    ('c', "cpus-per-task"),
    ('C', "constraint"),
    ('d', "dependency"),
    ('D', "chdir"),
    ('e', "error"),
    ('F', "nodefile"),
    ('g', "gid"),
    ('G', "gpus"),
    ('i', "input"),
    ('J', "job-name"),
    ('L', "licenses"),
    ('m', "distribution"),
    ('M', "clusters"),
    ('n', "ntasks"),
    ('N', "nodes"),
    ('o', "output"),
    ('p', "partition"),
    ('q', "qos"),
    ('r', "relative"),
    ('S', "core-spec"),
    ('t', "time"),
    ('T', "threads"),
    ('w', "nodelist"),
    ('W', "wait"),
    ('x', "exclude"),
];

/// Short options without one that matter here.
const FLAGS: &[(char, &str)] = &[('O', "overcommit")];

/// Long options whose value, if any, stands behind `=`.
const NO_NEXT_WORD: &[&str] = &[
    "contiguous",
    "disable-status",
    "exact",
    "exclusive",
    "get-user-env",
    "help",
    "hold",
    "ignore-pbs",
    "immediate",
    "kill-on-bad-exit",
    "label",
    "multi-prog",
    "nice",
    "no-allocate",
    "no-kill",
    "no-requeue",
    "no-shell",
    "overcommit",
    "overlap",
    "oversubscribe",
    "parsable",
    "preserve-env",
    "propagate",
    "pty",
    "quiet",
    "reboot",
    "requeue",
    "share",
    "spread-job",
    "test-only",
    "unbuffered",
    "usage",
    "use-min-nodes",
    "verbose",
    "version",
    "wait-for-children",
    "whole",
];

/// Options by long name; one without a value has an empty one.
pub(crate) type Options = BTreeMap<String, String>;

/// A command line taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    pub options: Options,
    /// The program and its words; of a step of several components that of the first.
    pub program: Vec<String>,
    /// How many of the words are srun's.
    pub own_words: usize,
    /// Which words each option takes.
    spans: Vec<(Vec<String>, Range<usize>)>,
    /// Further components (`srun A : B`).
    pub more: bool,
}

/// Takes the words behind `srun` (or `sbatch`, `salloc`) apart.
pub(crate) fn read(words: &[String]) -> Line {
    let mut line = Line::default();
    let mut at = 0;
    while let Some(word) = words.get(at).filter(|word| is_option(word)) {
        let first = at;
        at += 1;
        let next = words.get(at).map(String::as_str);
        if word == "--" {
            break;
        }
        let mut taken = Options::new();
        let took = match word.strip_prefix("--") {
            Some(long) => take_long(&mut taken, long, next),
            None => take_short(&mut taken, &word[1..], next),
        };
        at += usize::from(took);
        line.spans
            .push((taken.keys().cloned().collect(), first..at));
        line.options.extend(taken);
    }
    line.own_words = at;
    let rest = &words[at..];
    let end = rest.iter().position(|word| word == ":");
    line.more = end.is_some();
    line.program = rest[..end.unwrap_or(rest.len())].to_vec();
    line
}

impl Line {
    /// srun's words without some options and with others before them.
    pub(crate) fn rewritten(&self, words: &[String], drop: &[&str], add: &[&str]) -> String {
        let dropped = |at: &usize| {
            self.spans.iter().any(|(names, span)| {
                span.contains(at) && names.iter().any(|name| drop.contains(&name.as_str()))
            })
        };
        let kept = (0..words.len())
            .filter(|at| !dropped(at))
            .map(|at| &words[at]);
        let added = add.iter().map(|word| (*word).to_string());
        joined(&added.chain(kept.cloned()).collect::<Vec<_>>())
    }
}

/// Words as one line for a shell; variables are left to be replaced.
pub(crate) fn joined(words: &[String]) -> String {
    words
        .iter()
        .map(|word| quoted(word))
        .collect::<Vec<_>>()
        .join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_=:,./@+%~$".contains(c);
    match shlex::try_quote(word) {
        Ok(text) if !word.chars().all(plain) => text.into_owned(),
        _ => word.to_string(),
    }
}

fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-')
}

/// Whether the next word was its value.
fn take_long(options: &mut Options, word: &str, next: Option<&str>) -> bool {
    let (name, value) = match word.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (word, None),
    };
    // srun's older spelling.
    let name = match name {
        "cpu_bind" => "cpu-bind",
        "mem_bind" => "mem-bind",
        "berth-binding" => "binding",
        name => name,
    };
    let takes_next = value.is_none() && !NO_NEXT_WORD.contains(&name);
    let value = value.or(next.filter(|_| takes_next)).unwrap_or_default();
    options.insert(name.into(), value.into());
    takes_next && next.is_some()
}

fn take_short(options: &mut Options, letters: &str, next: Option<&str>) -> bool {
    let Some(first) = letters.chars().next() else {
        return false;
    };
    let rest = &letters[first.len_utf8()..];
    if let Some((_, long)) = WITH_VALUE.iter().find(|(letter, _)| *letter == first) {
        let value = if rest.is_empty() {
            next.unwrap_or_default()
        } else {
            rest
        };
        options.insert((*long).into(), value.trim_start_matches('=').into());
        return rest.is_empty() && next.is_some();
    }
    if let Some((_, long)) = FLAGS.iter().find(|(letter, _)| *letter == first) {
        options.insert((*long).into(), String::new());
    }
    // As in -ul: several in one word.
    !rest.is_empty() && take_short(options, rest, next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Line {
        read(&shlex::split(text).unwrap())
    }

    #[test]
    fn options_end_where_the_program_begins() {
        let found = line("-n4 -c 2 --cpu_bind=cores -lu --exclusive -m=block:block ./app -n 9");
        let options: Vec<_> = found
            .options
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        assert_eq!(
            options,
            [
                "cpu-bind=cores",
                "cpus-per-task=2",
                "distribution=block:block",
                "exclusive=",
                "ntasks=4"
            ]
        );
        assert_eq!(found.program, ["./app", "-n", "9"]);
        assert_eq!(found.own_words, 7);
        assert_eq!(line("--ntasks 3 --label -- prog").program, ["prog"]);
        let two = line("-n1 a x : -n2 b");
        assert_eq!(
            (two.program, two.more),
            (vec!["a".into(), "x".into()], true)
        );
        assert_eq!(line("").program, Vec::<String>::new());
    }
}
