//! `berth check`: reads a line or a batch script and shows the common traps, each with its reason,
//! and the one corrected line to use instead.

mod case;
mod command;
mod directives;
mod document;
mod files;
mod finding;
mod foreign;
mod inner;
mod input;
mod installed;
#[cfg(test)]
mod mutations;
mod planned;
mod repair;
mod rules;
mod script;
mod settings;
mod show;

use std::io::Write;
use std::process::ExitCode;

use berth_srun::Release;

use crate::Failure;
use berth_answer::args::{SiteNodes, unused_site};

use crate::args::{CheckArgs, CheckFormat};
use crate::json;
use crate::say;
use case::{Case, Surroundings};
use command::Kind;
use files::Files;
use finding::{Edit, Finding, Level};
use foreign::Foreign;
use inner::Role;
use input::Input;
use planned::Place;
use script::Script;

/// The exit code where there is nothing to check.
const NOTHING: u8 = 2;

/// Runs the subcommand.
///
/// # Errors
/// A machine that cannot be read, an output that cannot be written.
pub(crate) fn run(args: &CheckArgs) -> Result<ExitCode, Failure> {
    let (text, path) = match input::input(&args.line)? {
        Input::Text(text, path) => (text, path),
        Input::Missing(why) => return Ok(nothing(&why)),
    };
    let place = match (&args.machine, &args.cluster) {
        (None, None) => None,
        (machine, cluster) => Some(Place::named(machine.as_deref(), cluster.as_deref())?),
    };
    let there = || place.as_ref().and_then(Place::release);
    let release = args.slurm.or_else(there);
    let release = release.unwrap_or_else(installed::release);
    let files = Files::beside(path.as_deref());
    let variable = std::env::var(SiteNodes::VARIABLE).ok();
    let site = match SiteNodes::of(args.site, variable.as_deref()) {
        Ok(site) => site,
        Err(why) => return Ok(nothing(&why)),
    };
    let mut around = Surroundings {
        place: place.as_ref(),
        release,
        exclusive: args.exclusive,
        whole: site == Some(SiteNodes::Exclusive) && args.cluster.is_none(),
        files: &files,
    };
    let read = script::script(&text, around);
    let has_commands = !read.commands.is_empty() || read.job.is_some();
    if !has_commands && read.inner.is_empty() && read.foreign.is_none() {
        return Ok(nothing(
            "there is no srun, sbatch, salloc or mpirun in it, so there is nothing to check; give a line in quotes, a \
             batch script, or - for stdin",
        ));
    }
    let asks_here = args.slurm.is_none() && args.cluster.is_none() && site.is_none();
    around.whole |= asks_here && is_whole_here(&read, release);
    answer(args, &text, &read, around)
}

/// Prints the findings and the correction.
fn answer(
    args: &CheckArgs,
    text: &[u8],
    read: &Script,
    around: Surroundings<'_>,
) -> Result<ExitCode, Failure> {
    let mut findings = findings(read, around);
    let corrected = repair::corrected(text, &findings, around);
    findings.extend(corrected.iter().flat_map(|one| one.more.clone()));
    findings.sort_by_key(|finding| finding.line);
    let mut out: Box<dyn Write> = match args.format {
        CheckFormat::Json => Box::new(say::output()),
        _ => Box::new(say::foreign_output()),
    };
    match args.format {
        CheckFormat::Json => {
            let not_read = not_read(read);
            let document = show::Document::new(
                around.release.name(),
                &mut findings,
                corrected.as_ref(),
                not_read,
            );
            json::write_all(&mut out, "berth-check", &document)?;
        }
        CheckFormat::Table => {
            let lines = text.iter().filter(|byte| **byte == b'\n').count();
            let several = lines > usize::from(text.ends_with(b"\n"));
            show::table(&mut out, &findings, corrected.as_ref(), several)?;
            not_read(read).iter().for_each(|why| say::note(why));
            unused_site(args.site, args.cluster.as_deref()).map(say::note);
        }
        CheckFormat::Script => {
            show::script(corrected.as_ref().map_or(text, |one| one.text.as_slice()))?
        }
    }
    out.flush()?;
    let is_wrong = findings
        .iter()
        .any(|finding| finding.level == Level::Warning);
    Ok(ExitCode::from(u8::from(is_wrong)))
}

/// Job files that were not read, with the reason.
fn not_read(script: &Script) -> Vec<String> {
    let all = script.all_scripts().into_iter();
    let mut all: Vec<_> = all.flat_map(|one| one.not_read.clone()).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Whether the cluster that is reached from here gives the job whole nodes. It is asked only where
/// the answer changes something.
fn is_whole_here(script: &Script, release: Release) -> bool {
    let scripts = script.all_scripts();
    let commands = || scripts.iter().flat_map(|script| &script.commands);
    let lines = || {
        scripts
            .iter()
            .flat_map(|script| &script.job)
            .chain(commands())
    };
    let matters = |word: &berth_answer::shell::Word| {
        let text = &word.text;
        text.contains("map_") || text.contains("mask_") || text.contains("binding")
    };
    let threads = commands().any(|one| one.variables.contains_key("OMP_NUM_THREADS"));
    if !threads && !lines().flat_map(|one| &one.words).any(matters) {
        return false;
    }
    let mut named = lines().filter_map(|one| one.given("partition"));
    let partition = named.find_map(|given| given.value.as_deref());
    installed::gives_whole_nodes(partition, release)
}

fn nothing(why: &str) -> ExitCode {
    say::failed(why);
    ExitCode::from(NOTHING)
}

/// Every trap of a script and of those within it, in the order of their lines.
fn findings(script: &Script, around: Surroundings<'_>) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for finding in of_script(script, around, true) {
        // Several lines may submit one script.
        if finding.file.is_none() || !found.contains(&finding) {
            found.push(finding);
        }
    }
    found.sort_by_key(|finding| finding.line);
    found
}

/// The traps of a script; `starts` is false where its job would not start.
fn of_script(script: &Script, around: Surroundings<'_>, starts: bool) -> Vec<Finding> {
    let mut found = Vec::new();
    if let Some(unclosed) = script.unclosed {
        let line = script.line_of(unclosed.at);
        let text = format!("{} that begins here is never closed", unclosed.what);
        let why = "what stands behind it cannot be checked";
        found.push(Finding::hint(line, "unclosed", text, why));
    }
    found.extend(indented_directives(script));
    let refused = |command| rules::refused(&Case::new(script, command, around));
    found.extend(script.directives.iter().flat_map(refused));
    let mut of_job = Vec::new();
    let starts = starts
        && match (&script.job, script.role) {
            (Some(job), Role::Whole | Role::Submitted) => {
                let mut wrong = refused(job);
                let starts = wrong.is_empty();
                // The words of a line that submits were looked at apart.
                wrong.retain(|_| script.role == Role::Whole);
                of_job.extend(wrong);
                starts && job_starts(&Case::new(script, job, around), &mut of_job)
            }
            _ => true,
        };
    for command in &script.commands {
        let case = Case::new(script, command, around);
        found.extend(of_command(&case, starts));
    }
    // A script of Slurm's own may keep directives for another site.
    let foreign = script.foreign;
    let foreign = foreign.filter(|one| !one.is_directive || script.job.is_none());
    found.extend(foreign.map(Foreign::finding));
    if let Some(file) = &script.file {
        for finding in &mut found {
            finding.file = Some(file.clone());
            finding.repairs.clear();
        }
    }
    found.extend(of_job);
    let inner = script.inner.iter();
    found.extend(
        inner.flat_map(|inner| of_script(inner, around, starts || inner.role == Role::Submitted)),
    );
    found
}

/// Lines that look like directives and are none.
fn indented_directives(script: &Script) -> impl Iterator<Item = Finding> + '_ {
    script.indented.iter().map(|blanks| {
        let line = script.line_of(blanks.end);
        let found = "a blank stands before #SBATCH".into();
        let why =
            "sbatch reads only lines that begin with #SBATCH, and takes this line for a comment";
        let edit = Edit {
            range: blanks.clone(),
            text: String::new(),
        };
        Finding::warning(line, "indented-directive", found, why).or(Some(vec![edit]))
    })
}

/// The traps of a job whose options are taken; whether it would start.
fn job_starts(case: &Case<'_>, found: &mut Vec<Finding>) -> bool {
    found.extend(rules::JOB.iter().filter_map(|rule| rule(case)));
    let refused = planned::job_refused(case);
    let starts = refused.is_none();
    found.extend(refused);
    starts
}

/// The traps of one command. What a step would do in a job that never starts is not known.
fn of_command(case: &Case<'_>, starts: bool) -> Vec<Finding> {
    let refused = || rules::refused(case);
    let mut found = Vec::new();
    match (case.command.kind, case.script.role) {
        (Kind::Mpirun, Role::InTasks) => found.extend(rules::in_tasks(case)),
        (Kind::Mpirun, _) if starts => found.extend(rules::mpi::check(case)),
        (Kind::Mpirun, _) => {}
        (kind, role) => match (refused(), kind) {
            (refused, _) if !refused.is_empty() => found.extend(refused),
            (_, Kind::Srun) if role == Role::InTasks => found.extend(rules::in_tasks(case)),
            (_, Kind::Srun) if starts => {
                found.extend(rules::SRUN.iter().filter_map(|rule| rule(case)));
                // What its own command refuses is not planned.
                let is_refused = |one: &Finding| rules::AT_SUBMISSION.contains(&one.rule);
                if !found.iter().any(is_refused) {
                    found.extend(planned::on_machine(case));
                }
            }
            (_, Kind::Job(_)) if !case.command.is_known_job => {
                job_starts(case, &mut found);
            }
            _ => {}
        },
    }
    found
}
