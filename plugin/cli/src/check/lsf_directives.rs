//! A job script of LSF: its `#BSUB` lines become `#SBATCH` lines. What they ask for together, as slots and hosts,
//! stands on the first of them. What has no counterpart is named, and stays as a line of LSF's, which sbatch does not read.

use std::borrow::Cow;

use berth_placement::CpusetRequest;

use super::command::{Command, Kind};
use super::finding::{Edit, Finding, Repair};
use super::lsf::{Request, WHY};
use super::script::Script;
use crate::say;
use crate::shell::Word;

/// A script with more such lines is not corrected.
const MOST: usize = 100;

/// What sbatch needs where LSF takes a shell of its own.
const SHELL: &str = "#!/bin/sh\n";

/// The finding of a script that has such lines; one of Slurm's own may keep them for another site.
pub(super) fn translated(script: &Script) -> Option<Finding> {
    let all = script.commands.iter();
    let lines = all.filter(|command| command.kind == Kind::Bsub && is_directive(command));
    let lines: Vec<_> = lines.filter(|_| script.job.is_none()).collect();
    let first = *lines.first()?;
    let mut request = Request::default();
    let taken = taken(&lines, &mut request);
    let found = format!(
        "this is a script of LSF: #BSUB {}{}",
        say::short(&joined(first)),
        match lines.len() {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        }
    );
    let behind = |line: &&&Command| {
        let begins = script.first_command;
        begins.is_some_and(|first| first < line.name.range.start)
    };
    let late = lines.iter().find(behind);
    request.missing.extend(late.map(|line| {
        format!(
            "line {} stands behind the first command, where sbatch reads no directives",
            line.number
        )
    }));
    let mut why = String::from(WHY);
    if !request.missing.is_empty() {
        let missing = request.missing.join("; ");
        why += &format!("; without a counterpart: {}", say::short(&missing));
    }
    let cpuset = match request.cpuset.map(str::parse::<CpusetRequest>) {
        Some(Err(wrong)) => {
            why += &format!("; the cpuset cannot be read: {wrong}");
            return Some(Finding::warning(first.number, "lsf", found, &why));
        }
        Some(Ok(asked)) => Some(asked),
        None => None,
    };
    let is_whole = late.is_none() && lines.len() <= MOST && request.is_known(&lines);
    let options = request.options(cpuset.as_ref()).filter(|_| is_whole);
    let repair = options.and_then(|options| replaced(script, &lines, (&options, &taken)));
    Some(Finding::warning(first.number, "lsf", found, &why).or(repair))
}

/// What becomes of a line.
struct Taken {
    /// Slurm's words.
    slurms: String,
    /// LSF's that stay.
    left: String,
}

/// Reads every line into the request, and says what becomes of each.
fn taken<'a>(lines: &[&'a Command], request: &mut Request<'a>) -> Vec<Taken> {
    let mut all = Vec::new();
    for line in lines {
        let known = request.replaced.len();
        let left = request.left.len();
        request.take(&line.words);
        let rest = std::mem::take(&mut request.program);
        let rest = rest.iter().map(|word| word.text.clone());
        request.missing.extend(rest);
        let new = request.replaced.iter().skip(known);
        let texts = new.map(|(_, text)| text.as_str());
        let texts: Vec<_> = texts.filter(|text| !text.is_empty()).collect();
        let left = request.left.iter().skip(left).copied().flatten();
        let left: Vec<_> = left.map(quoted).collect();
        all.push(Taken {
            slurms: texts.join(" "),
            left: left.join(" "),
        });
    }
    all
}

/// A word as LSF reads it again. One that cannot be quoted belongs to a script that is not corrected.
fn quoted(word: &Word) -> Cow<'_, str> {
    shlex::try_quote(&word.text).unwrap_or_default()
}

/// Whether a command is a `#BSUB` line.
pub(super) fn is_directive(command: &Command) -> bool {
    command.name.range.is_empty()
}

fn joined(line: &Command) -> String {
    let texts: Vec<_> = line.words.iter().map(|word| word.text.as_str()).collect();
    texts.join(" ")
}

/// Each line with Slurm's words in place of LSF's; a line of which nothing is left goes.
fn replaced(
    script: &Script,
    lines: &[&Command],
    (options, taken): (&str, &[Taken]),
) -> Option<Repair> {
    let is_slurms = |taken: &Taken| !taken.slurms.is_empty();
    if options.is_empty() && !taken.iter().any(is_slurms) {
        return None;
    }
    let mut edits = Vec::new();
    if script.first_command.is_some() && !script.text.starts_with(b"#!") {
        edits.push(Edit {
            range: 0..0,
            text: SHELL.into(),
        });
    }
    let mut options = Some(options).filter(|options| !options.is_empty());
    for (line, own) in lines.iter().zip(taken) {
        let start = line.name.range.start;
        let rest = script.text.get(start..)?;
        let length = rest.iter().position(|byte| *byte == b'\n');
        let end = start + length.unwrap_or(rest.len());
        let own_words = Some(own.slurms.as_str()).filter(|own| !own.is_empty());
        let words: Vec<_> = options.take().into_iter().chain(own_words).collect();
        let mut texts = Vec::new();
        if !words.is_empty() {
            texts.push(format!("#SBATCH {}", words.join(" ")));
        }
        if !own.left.is_empty() {
            texts.push(format!("#BSUB {}", own.left));
        }
        let edit = match texts.is_empty() {
            true => Edit {
                // With the end of the line before it.
                range: start.saturating_sub(1)..end,
                text: String::new(),
            },
            false => Edit {
                range: start..end,
                text: texts.join("\n"),
            },
        };
        // A shebang before the first line is put in at the same place.
        edits.push(edit);
    }
    Some(edits)
}
