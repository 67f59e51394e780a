//! The answer for people and for programs.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use super::finding::{Finding, Level};
use super::repair::Corrected;
use crate::say;

/// A changed line of the corrected text.
#[derive(Serialize)]
struct Changed {
    line: usize,
    text: String,
}

/// The answer for programs.
#[derive(Serialize)]
pub(super) struct Document<'a> {
    /// The release line whose rules were used.
    slurm: &'static str,
    findings: &'a [Finding],
    corrected: Vec<Changed>,
    /// Job files that were not read, with the reason.
    not_read: Vec<String>,
}

impl<'a> Document<'a> {
    pub(super) fn new(
        slurm: &'static str,
        findings: &'a mut [Finding],
        corrected: Option<&Corrected>,
        not_read: Vec<String>,
    ) -> Self {
        let corrected = corrected.map_or(Vec::new(), changed);
        let texts: Vec<_> = corrected
            .iter()
            .map(|changed| changed.text.as_str())
            .collect();
        for finding in findings
            .iter_mut()
            .filter(|one| one.level == Level::Warning)
        {
            finding.instead = texts.join("\n");
        }
        Self {
            slurm,
            findings,
            corrected,
            not_read,
        }
    }
}

fn changed(corrected: &Corrected) -> Vec<Changed> {
    let lines: Vec<_> = corrected.text.split(|byte| *byte == b'\n').collect();
    let text = |line: usize| {
        let bytes = lines.get(line.checked_sub(1)?)?;
        let text = String::from_utf8_lossy(bytes).into_owned();
        Some(Changed { line, text })
    };
    corrected.lines().into_iter().filter_map(text).collect()
}

/// Findings, and what to use instead.
///
/// # Errors
/// An output that cannot be written.
pub(super) fn table(
    out: &mut impl Write,
    findings: &[Finding],
    corrected: Option<&Corrected>,
    several: bool,
) -> io::Result<()> {
    for finding in findings {
        let at = match (&finding.file, several) {
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
    if findings.is_empty() {
        writeln!(out, "no trap was found")?;
    }
    let Some(corrected) = corrected else {
        return Ok(());
    };
    for (at, changed) in changed(corrected).iter().enumerate() {
        let head = if at == 0 { "instead" } else { "" };
        match several {
            true => writeln!(out, "{head:<9}  line {:<4} {}", changed.line, changed.text)?,
            false => writeln!(out, "{head:<9}  {}", changed.text)?,
        }
    }
    Ok(())
}

/// The text with its corrections, byte for byte; a terminal gets no control characters.
///
/// # Errors
/// An output that cannot be written.
pub(super) fn script(text: &[u8]) -> io::Result<()> {
    match io::stdout().is_terminal() {
        true => {
            let mut out = say::foreign_output();
            out.write_all(text)?;
            out.flush()
        }
        false => {
            let mut out = say::output();
            out.write_all(text)?;
            out.flush()
        }
    }
}
