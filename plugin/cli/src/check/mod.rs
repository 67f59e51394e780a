//! `berth check`: reads an srun line or a batch script and shows the common traps, each with its
//! reason and the line to use instead.

mod case;
mod grid_engine;
mod mpirun;
mod planned;
mod rules;
mod script;
mod words;

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use berth_placement::Node;
use berth_srun::Release;
use serde::Serialize;

use crate::Failure;
use crate::args::{CheckArgs, StatusFormat};
use crate::json;
use crate::say;
use case::Case;
use script::{Command, Kind, Script};

/// A trap that a line has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// Line of the script, from 1.
    line: usize,
    rule: &'static str,
    /// `warning`, or `hint` if it may be intended.
    level: Level,
    found: String,
    why: String,
    instead: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    Warning,
    Hint,
}

impl Finding {
    fn warning(
        command: &Command,
        rule: &'static str,
        found: String,
        why: &str,
        instead: String,
    ) -> Self {
        Self {
            line: command.number,
            rule,
            level: Level::Warning,
            found,
            why: why.into(),
            instead,
        }
    }

    fn hint(
        command: &Command,
        rule: &'static str,
        found: String,
        why: &str,
        instead: String,
    ) -> Self {
        Self {
            level: Level::Hint,
            ..Self::warning(command, rule, found, why, instead)
        }
    }
}

/// Runs the subcommand.
///
/// # Errors
/// A script or machine that cannot be read, an output that cannot be written.
pub(crate) fn run(args: &CheckArgs) -> Result<ExitCode, Failure> {
    let text = text(&args.line)?;
    let script = script::script(&text);
    if script.commands.is_empty() {
        return Err(
            "there is no srun, mpirun or qsub in it, so there is nothing to check; give an srun \
             line in quotes, a batch script, or - for stdin"
                .into(),
        );
    }
    let host = match &args.machine {
        Some(machine) => Some(planned::host(machine)?),
        None => None,
    };
    let findings = findings(&script, (host.as_ref(), args.slurm));
    let mut out = say::foreign_output();
    match args.format {
        StatusFormat::Json => {
            json::write(&mut out, "berth-check", "findings", &findings)?;
        }
        StatusFormat::Table => {
            for finding in &findings {
                show(&mut out, finding, text.lines().count() > 1)?;
            }
            if findings.is_empty() {
                writeln!(out, "no trap was found")?;
            }
        }
    }
    out.flush()?;
    let wrong = findings
        .iter()
        .any(|finding| finding.level == Level::Warning);
    Ok(if wrong {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// A line in words or in one word, a file, or stdin.
fn text(words: &[String]) -> Result<String, Failure> {
    match words {
        [one] if one == "-" => {
            let mut bytes = Vec::new();
            io::stdin().read_to_end(&mut bytes)?;
            Ok(lossy(&bytes))
        }
        [one] if Path::new(one).is_file() => match std::fs::read(one) {
            Ok(bytes) => Ok(lossy(&bytes)),
            Err(why) => Err(format!("{one} cannot be read: {why}").into()),
        },
        [one] => Ok(one.clone()),
        several => Ok(shlex::try_join(several.iter().map(String::as_str))?),
    }
}

/// Comments may be in any encoding, but the words that matter are ASCII.
fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn findings(script: &Script, on: (Option<&Node>, Option<Release>)) -> Vec<Finding> {
    let mut findings = Vec::new();
    for command in &script.commands {
        match command.kind {
            Kind::Srun => {
                let case = Case::new(script, command, on);
                let before = findings.len();
                findings.extend(planned::wrong_value(&case));
                if findings.len() == before {
                    findings.extend(rules::RULES.iter().filter_map(|rule| rule(&case)));
                    findings.extend(planned::on_machine(&case));
                }
            }
            Kind::Mpirun => findings.extend(mpirun::check(&Case::new(script, command, on))),
            Kind::Qsub => findings.extend(grid_engine::translated(command)),
        }
    }
    findings
}

fn show(out: &mut impl Write, finding: &Finding, several: bool) -> io::Result<()> {
    let at = match several {
        true => format!("line {}: ", finding.line),
        false => String::new(),
    };
    let hint = if finding.level == Level::Hint {
        "hint: "
    } else {
        ""
    };
    writeln!(out, "{at}{hint}{} [{}]", finding.found, finding.rule)?;
    writeln!(out, "  why      {}", finding.why)?;
    if !finding.instead.is_empty() {
        for (at, line) in finding.instead.lines().enumerate() {
            writeln!(out, "  {:<8} {line}", if at == 0 { "instead" } else { "" })?;
        }
    }
    Ok(())
}
