//! The answer for people and for programs.

use std::io::{self, Write};

use serde::Serialize;

use super::finding::{Finding, Level};
use super::place::Surroundings;
use super::repair;
use super::script::Script;

/// A changed line of the corrected text.
#[derive(Debug, Serialize)]
struct Changed {
    line: usize,
    text: String,
}

/// The answer. Its fields are those of the document for programs.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The release line whose rules were used.
    slurm: &'static str,
    findings: Vec<Finding>,
    corrected: Vec<Changed>,
    /// Job files that were not read, with the reason.
    pub not_read: Vec<String>,
    /// The text with its corrections; every other byte is as it was.
    #[serde(skip)]
    pub text: Vec<u8>,
    /// Whether the text has several lines.
    #[serde(skip)]
    has_lines: bool,
}

impl Report {
    /// The findings of a text, and its correction.
    pub(super) fn of(read: &Script, around: &Surroundings<'_>) -> Self {
        let text = around.text;
        let mut findings = super::findings(read, around);
        let corrected = repair::corrected(text, &findings, around);
        findings.extend(corrected.iter().flat_map(|one| one.more.clone()));
        findings.sort_by_key(|finding| finding.line);
        let new = corrected.map_or_else(|| text.into(), |one| one.text);
        let lines = changed(text, &new);
        let texts: Vec<_> = lines.iter().map(|line| line.text.as_str()).collect();
        let instead = texts.join("\n");
        let wrong = findings
            .iter_mut()
            .filter(|one| one.level == Level::Warning);
        wrong.for_each(|finding| finding.instead.clone_from(&instead));
        let ends = text.iter().filter(|byte| **byte == b'\n').count();
        Self {
            slurm: around.release.name(),
            findings,
            corrected: lines,
            not_read: not_read(read),
            text: new,
            has_lines: ends > usize::from(text.ends_with(b"\n")),
        }
    }

    /// Whether there is more than hints.
    #[must_use]
    pub fn is_wrong(&self) -> bool {
        let mut all = self.findings.iter();
        all.any(|finding| finding.level == Level::Warning)
    }

    /// Findings, and what to use instead.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        for finding in &self.findings {
            let at = match (&finding.file, self.has_lines) {
                (Some(file), _) => format!("{file} line {}: ", finding.line),
                (None, true) => format!("line {}: ", finding.line),
                (None, false) => String::new(),
            };
            let hint = match finding.level {
                Level::Hint => "hint: ",
                Level::Warning => "",
            };
            writeln!(out, "{at}{hint}{} [{}]", finding.found, finding.rule)?;
            writeln!(out, "  why      {}", finding.why)?;
        }
        if self.findings.is_empty() {
            writeln!(out, "no trap was found")?;
        }
        for (at, Changed { line, text }) in self.corrected.iter().enumerate() {
            let head = if at == 0 { "instead" } else { "" };
            match self.has_lines {
                true => writeln!(out, "{head:<9}  line {line:<4} {text}")?,
                false => writeln!(out, "{head:<9}  {text}")?,
            }
        }
        Ok(())
    }
}

/// The lines that a correction has changed; a repair makes no line and takes none away.
fn changed(old: &[u8], new: &[u8]) -> Vec<Changed> {
    let lines = |text| <[u8]>::split(text, |byte| *byte == b'\n');
    let mut changed = Vec::new();
    for (line, (old, new)) in (1..).zip(lines(old).zip(lines(new))) {
        if old != new {
            let text = String::from_utf8_lossy(new).into_owned();
            changed.push(Changed { line, text });
        }
    }
    changed
}

/// Job files that were not read, with the reason.
fn not_read(script: &Script) -> Vec<String> {
    let all = script.all_scripts().into_iter();
    let mut all: Vec<_> = all.flat_map(|one| one.not_read.clone()).collect();
    all.sort_unstable();
    all.dedup();
    all
}
