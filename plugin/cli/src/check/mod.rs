//! `berth check`: reads a line or a batch script and shows the common traps, each with its reason,
//! and the one corrected line to use instead.

mod case;
mod command;
mod finding;
mod grid_engine;
mod input;
mod installed;
#[cfg(test)]
mod mutations;
mod planned;
mod repair;
mod rules;
mod script;
mod show;

use std::io::Write;
use std::process::ExitCode;

use crate::Failure;
use crate::args::{CheckArgs, CheckFormat};
use crate::json;
use crate::say;
use case::{Case, Surroundings};
use command::Kind;
use finding::{Finding, Level};
use input::Input;
use script::Script;

/// The exit code where there is nothing to check.
const NOTHING: u8 = 2;

/// Runs the subcommand.
///
/// # Errors
/// A machine that cannot be read, an output that cannot be written.
pub(crate) fn run(args: &CheckArgs) -> Result<ExitCode, Failure> {
    let text = match input::input(&args.line)? {
        Input::Text(text) => text,
        Input::Missing(why) => return Ok(nothing(&why)),
    };
    let release = args.slurm.unwrap_or_else(installed::release);
    let read = script::script(&text, release);
    if read.commands.is_empty() && read.job.is_none() {
        return Ok(nothing(
            "there is no srun, sbatch, mpirun or qsub in it, so there is nothing to check; give a line \
             in quotes, a batch script, or - for stdin",
        ));
    }
    let host = match &args.machine {
        Some(machine) => Some(planned::host(machine)?),
        None => None,
    };
    let around = Surroundings {
        host: host.as_ref(),
        release,
        whole: args.whole || (args.slurm.is_none() && is_whole_here(&read)),
    };
    let mut findings = findings(&read, around);
    let corrected = repair::corrected(&text, &findings, around);
    findings.extend(corrected.iter().flat_map(|one| one.more.clone()));
    findings.sort_by_key(|finding| finding.line);
    let mut out = say::foreign_output();
    match args.format {
        CheckFormat::Json => {
            let document = show::Document::new(release.name(), &mut findings, corrected.as_ref());
            json::write_all(&mut out, "berth-check", &document)?;
        }
        CheckFormat::Table => {
            let lines = text.iter().filter(|byte| **byte == b'\n').count();
            let several = lines > usize::from(text.ends_with(b"\n"));
            show::table(&mut out, &findings, corrected.as_ref(), several)?;
        }
        CheckFormat::Script => show::script(corrected.as_ref().map_or(&text, |one| &one.text))?,
    }
    out.flush()?;
    let is_wrong = findings
        .iter()
        .any(|finding| finding.level == Level::Warning);
    Ok(ExitCode::from(u8::from(is_wrong)))
}

/// Whether the cluster that is reached from here gives the job whole nodes. It is asked only where
/// the answer changes something.
fn is_whole_here(script: &Script) -> bool {
    let lines = script.job.iter().chain(&script.commands);
    let matters = |word: &crate::shell::Word| {
        let text = &word.text;
        text.contains("map_") || text.contains("mask_") || text.contains("binding")
    };
    let threads = script
        .commands
        .iter()
        .any(|one| one.variables.contains_key("OMP_NUM_THREADS"));
    if !threads && !lines.clone().flat_map(|one| &one.words).any(matters) {
        return false;
    }
    let mut named = lines.filter_map(|one| one.given("partition"));
    let partition = named.find_map(|given| given.value.as_deref());
    installed::gives_whole_nodes(partition)
}

fn nothing(why: &str) -> ExitCode {
    say::failed(why);
    ExitCode::from(NOTHING)
}

/// Every trap of a script, in the order of its lines.
fn findings(script: &Script, around: Surroundings<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(unclosed) = script.unclosed {
        let line = crate::shell::line_of(&script.text, unclosed.at);
        let found = format!("{} that begins here is never closed", unclosed.what);
        let why = "what stands behind it cannot be checked";
        findings.push(Finding::hint(line, "unclosed", found, why));
    }
    let of = |rules: &[fn(&Case<'_>) -> Option<Finding>], case: &Case<'_>| -> Vec<_> {
        rules.iter().filter_map(|rule| rule(case)).collect()
    };
    let mut starts = true;
    if let Some(job) = &script.job {
        let case = Case::new(script, job, around);
        let refused = rules::OPTIONS.iter().find_map(|rule| rule(&case));
        starts = refused.is_none();
        match refused {
            Some(refused) => findings.push(refused),
            None => findings.extend(of(rules::JOB, &case)),
        }
    }
    for command in &script.commands {
        let case = Case::new(script, command, around);
        match command.kind {
            Kind::Srun => match rules::OPTIONS.iter().find_map(|rule| rule(&case)) {
                Some(refused) => findings.push(refused),
                // What a step would do in a job that never starts is not known.
                None if !starts => {}
                None => {
                    findings.extend(of(rules::SRUN, &case));
                    findings.extend(planned::on_machine(&case));
                }
            },
            Kind::Mpirun if starts => findings.extend(rules::mpi::check(&case)),
            Kind::Job(_) => match rules::OPTIONS.iter().find_map(|rule| rule(&case)) {
                Some(refused) => findings.push(refused),
                None => findings.extend(of(rules::JOB, &case)),
            },
            Kind::Mpirun | Kind::Qsub => {}
        }
    }
    findings.extend(grid_engine::translated(script));
    findings.sort_by_key(|finding| finding.line);
    findings
}
