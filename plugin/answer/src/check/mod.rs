//! `berth check`: reads a line or a batch script and shows the common traps, each with its reason,
//! and the one corrected line to use instead. In: a text, and the place that it is for. Out: a [`Report`].

mod blocks;
mod calculation;
mod case;
mod command;
mod directives;
mod exports;
mod finding;
mod loop_input;
#[cfg(test)]
mod mutations;
mod nested_script;
mod place;
mod planned;
mod repair;
mod report;
mod rules;
mod script;
mod settings;
mod steps;
mod texts;
mod variables;

use berth_srun::{Release, submission};

use crate::args::SiteNodes;
use crate::lines::job::is_exclusive;
use crate::world::{LIVE, World};
use crate::{Failure, Unreadable};
use case::Case;
use command::{Foreign, Kind};
use finding::{Finding, replaced};
use place::{Place, Surroundings};
use script::{Role, Script};

pub use report::Report;
pub use steps::answer;

/// The text that is checked, and its purpose.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// A line or a batch script.
    pub text: &'a [u8],
    /// Whether the text is a file, as sbatch would read it.
    pub is_file: bool,
    /// The node that it is for, if one is named.
    pub machine: Option<&'a str>,
    /// The cluster that it is for, if one is named.
    pub cluster: Option<&'a str>,
    /// Slurm's release line there, if it is named.
    pub release: Option<Release>,
    /// Whether the job has its nodes alone, as with an option of its own line.
    pub exclusive: bool,
    /// How the site hands out nodes, if somebody says so.
    pub site: Option<SiteNodes>,
    /// Options of `berth plan` that hold for every step, such as the rules of the site.
    pub beside: &'a [String],
    /// The variables that the text finds set, as NAME=VALUE.
    pub variables: &'a [String],
}

/// Checks a text.
///
/// # Errors
/// A text without a command to check, and a machine or a cluster that cannot be read.
pub fn check(request: &Request<'_>, world: &dyn World) -> Result<Report, Failure> {
    let place = match (request.machine, request.cluster) {
        (None, None) => None,
        (machine, cluster) => {
            let machine = machine.unwrap_or(LIVE);
            Some(Place::named(machine, cluster, request.beside, world)?)
        }
    };
    let there = || match &place {
        Some(place) => place.args.srun.release,
        None => world
            .context(LIVE, None)
            .release()
            .unwrap_or(Release::NEWEST),
    };
    let release = request.release.unwrap_or_else(there);
    let mut around = Surroundings::of(request.text, place, release, world);
    around.variables = request.variables;
    around.is_file = request.is_file;
    around.exclusive = request.exclusive || request.beside.iter().any(|word| is_exclusive(word));
    around.whole = request.site == Some(SiteNodes::Exclusive) && request.cluster.is_none();
    let read = script::script(request.text, &around);
    let has_commands = !read.commands.is_empty() || read.job.is_some();
    if !has_commands && read.nested.is_empty() && read.foreign.is_none() {
        let why = "there is no srun, sbatch, salloc or mpirun in it, so there is nothing to check; give a line in \
                   quotes, a batch script, or - for stdin";
        return Err(Unreadable(why.into()).into());
    }
    let asks_there =
        request.release.is_none() && request.cluster.is_none() && request.site.is_none();
    around.whole |= asks_there && is_whole_there(&read, &around);
    Ok(Report::of(&read, &around))
}

/// Whether the cluster that is reached from there gives the job whole nodes.
fn is_whole_there(script: &Script, around: &Surroundings<'_>) -> bool {
    let scripts = script.all_scripts().into_iter();
    let mut lines = scripts.flat_map(|script| script.job.iter().chain(&script.commands));
    let partition = lines.find_map(|one| one.option("partition")?.value.as_deref());
    let config = around.world.context(LIVE, Some(LIVE)).cluster;
    let config = config.and_then(Result::ok);
    config.is_some_and(|config| config.gives_whole_nodes(partition, around.release.modelled()))
}

/// Every trap of a script and of those within it, in the order of their lines.
fn findings(script: &Script, around: &Surroundings<'_>) -> Vec<Finding> {
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
fn of_script(script: &Script, around: &Surroundings<'_>, starts: bool) -> Vec<Finding> {
    let mut found = Vec::new();
    if let Some(unclosed) = script.unclosed {
        let line = script.line_of(unclosed.at);
        let text = format!("{} that begins here is never closed", unclosed.what);
        let why = "what stands behind it cannot be checked";
        found.push(Finding::warning(line, "unclosed", text, why).hint_if(true));
    }
    found.extend(refused_script(script, around));
    found.extend(indented_directives(script));
    let refused = |command| rules::refused(&Case::new(script, command, around));
    found.extend(script.directives.iter().flat_map(refused));
    let mut of_job = Vec::new();
    let mut starts = starts;
    if matches!(script.role, Role::Whole | Role::Submitted) {
        for job in script.job.iter().chain(&script.components) {
            let mut wrong = refused(job);
            starts &= wrong.is_empty();
            // The words of a line that submits were looked at apart.
            wrong.retain(|_| script.role == Role::Whole);
            of_job.extend(wrong);
            starts = starts && job_starts(&Case::new(script, job, around), &mut of_job);
        }
    }
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
    let nested = script.nested.iter();
    found.extend(
        nested.flat_map(|one| of_script(one, around, starts || one.role == Role::Submitted)),
    );
    found
}

/// A script that sbatch does not submit. Other texts may be parts of one.
fn refused_script(script: &Script, around: &Surroundings<'_>) -> Option<Finding> {
    let text = script.file_text.as_ref().unwrap_or(&script.text);
    let has_program = text.trim_ascii_start().starts_with(b"#!");
    let has_directives = script
        .job
        .as_ref()
        .is_some_and(|job| job.name.range.is_empty());
    let is_script = match script.role {
        Role::Whole => has_program || around.is_file && has_directives,
        Role::Submitted => script.file.is_some(),
        Role::Part | Role::InTasks => false,
    };
    let why = submission::refused_script(text).filter(|_| is_script)?;
    let places = text.windows(2).enumerate();
    let places = places.filter(|(_, two)| *two == b"\r\n");
    let edits = places.flat_map(|(at, _)| replaced(at..at + 1, ""));
    let repair = (why == submission::DOS_LINES).then(|| edits.collect());
    let finding = Finding::warning(
        1,
        "refused-script",
        format!("sbatch: {why}"),
        "sbatch submits nothing",
    );
    Some(finding.or(repair))
}

/// Finds lines that look like directives, but which sbatch does not read because of the blanks before them.
fn indented_directives(script: &Script) -> impl Iterator<Item = Finding> + '_ {
    script.indented.iter().map(|blanks| {
        let line = script.line_of(blanks.end);
        let found = "a blank stands before #SBATCH".into();
        let why =
            "sbatch reads only lines that begin with #SBATCH, and takes this line for a comment";
        let finding = Finding::warning(line, "indented-directive", found, why);
        finding.or(Some(replaced(blanks.clone(), "")))
    })
}

/// The traps of a job whose options are taken; whether it would start.
fn job_starts(case: &Case<'_>, found: &mut Vec<Finding>) -> bool {
    found.extend(rules::JOB.iter().filter_map(|rule| rule(case)));
    let refused = planned::job_refused(case);
    let starts = refused.is_none();
    found.extend(refused.or_else(|| planned::script_refused(case)));
    starts
}

/// The traps of one command. What a step would do in a job that never starts is not known.
fn of_command(case: &Case<'_>, starts: bool) -> Vec<Finding> {
    let refused = || rules::refused(case);
    let mut found = Vec::new();
    match (case.command.kind, case.script.role) {
        (Kind::Mpirun, Role::InTasks) => found.push(rules::in_tasks(case)),
        (Kind::Mpirun, _) if starts => found.extend(rules::mpirun(case)),
        (Kind::Mpirun, _) => {}
        (kind, role) => match (refused(), kind) {
            (refused, _) if !refused.is_empty() => found.extend(refused),
            (_, Kind::Srun) if role == Role::InTasks => found.push(rules::in_tasks(case)),
            (_, Kind::Srun) if starts => {
                found.extend(rules::SRUN.iter().filter_map(|rule| rule(case)));
                // A line that its own command refuses is not planned.
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
