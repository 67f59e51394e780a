//! `berth plan`: answers one request, or a file of them, in the requested format.

mod batch;
mod brackets;
mod change;
mod controller;
mod cpuset;
mod cpuset_words;
mod defaults;
mod devices;
mod explain;
mod foreign;
mod given;
mod gives_way;
mod gpus;
mod granted;
mod job;
mod job_line;
mod json;
mod line;
mod numbers;
mod order;
mod owns;
mod pictures;
mod pool;
mod rankfile;
mod request;
mod score;
mod settings;
mod site;
mod step;
mod submission;
mod table;
mod variables;
mod wishes;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use berth_placement::{Node, Plan};
use clap::FromArgMatches;

use crate::Failure;
use crate::args::{Format, PlanArgs, as_getopt, shortened, usage};
use crate::progress::watched;
use crate::say;
use crate::srun_options;

pub(crate) use batch::command as request_command;
pub(crate) use change::{Added, spelled, with};
pub(crate) use controller::{Unusable, gives_whole_nodes, is_asked, job_refused};
pub(crate) use defaults::ByDefault;
use line::NoLine;
pub(crate) use request::node;
pub(crate) use score::QualityJson;
pub(crate) use settings::SiteSettings;
pub(crate) use site::socket_kind;
pub(crate) use step::{Planned, PlannedStep};
pub(crate) use submission::job_cpus;
pub(crate) use table::write_place;
use variables::Variables;

/// The answer to one request.
pub(crate) enum Answer {
    /// The step would run.
    Planned(Box<PlannedStep>),
    /// It would not, with the reason and what would happen instead.
    Refused(String),
}

/// Runs the subcommand.
///
/// # Errors
/// A machine or file that cannot be read, an output that cannot be written.
pub(crate) fn run(typed: &PlanArgs) -> Result<ExitCode, Failure> {
    if let Some(path) = &typed.batch {
        return batch::run(typed, path);
    }
    let args = &match settled(typed) {
        Ok(args) => args,
        Err(NoLine::Usage(why)) => usage(&why).exit(),
        Err(why @ NoLine::NotModelled(_)) => {
            say::failed(&why.to_string());
            return Ok(ExitCode::FAILURE);
        }
    };
    let on = node(args)?;
    let answered =
        answer_of_line(args, &on).map_err(|why| match why.downcast::<controller::Unusable>() {
            Ok(why) => usage(&why.to_string()).exit(),
            Err(why) => why,
        });
    let step = match answered? {
        Answer::Planned(step) => step,
        Answer::Refused(why) => {
            match is_not_modelled(&why) {
                true => say::failed(&why),
                false => say::refused(&why),
            }
            return Ok(ExitCode::FAILURE);
        }
    };
    print(args, &on, &step)?;
    Ok(ExitCode::SUCCESS)
}

/// Whether a reason says that berth does not know, and not that the step would not run.
pub(crate) fn is_not_modelled(why: &str) -> bool {
    why.starts_with("not modelled: ")
}

/// Prints the answer, what it rests on, and the notes.
fn print(args: &PlanArgs, on: &Node, step: &PlannedStep) -> Result<(), Failure> {
    let format = args.format.unwrap_or(Format::Table);
    let is_text = matches!(format, Format::Table | Format::Tree | Format::Brackets);
    let mut out: Box<dyn Write> = match is_text {
        true => Box::new(say::text_output()),
        false => Box::new(say::output()),
    };
    show(args, on, step, &mut out)?;
    if args.explain && is_text {
        explain::write(&mut out, args, on, step)?;
    }
    if args.score && is_text {
        score::write(&mut out, on, step)?;
    }
    out.flush()?;
    // The JSON has everything; people read beside the other formats what is for them.
    if !is_text && format != Format::Json {
        if args.explain {
            explain::write(&mut std::io::stderr(), args, on, step)?;
        }
        if args.score {
            score::write(&mut std::io::stderr(), on, step)?;
        }
        say::facts(&step.facts);
    }
    for note in notes(args, on, step) {
        say::note(&note);
    }
    Ok(())
}

/// The request with its line read, and with what was found out about the place.
fn settled(typed: &PlanArgs) -> Result<PlanArgs, NoLine> {
    let mut args = match &typed.line {
        None => typed.clone(),
        Some(line) => {
            let mut command = batch::command();
            let words = line::spelled_out(line, typed.srun.release)?;
            let is_job = words.iter().any(|word| word.starts_with("--job="));
            if is_job && typed.job.is_some() {
                let why = "the line is that of a job; leave out --job";
                return Err(NoLine::Usage(why.into()));
            }
            let typed = batch::typed_words().into_iter().filter(|word| word != line);
            let words = words
                .into_iter()
                .chain(typed.flat_map(|word| as_getopt(&word)));
            let read = command.try_get_matches_from_mut(words);
            let read = read.and_then(|matches| PlanArgs::from_arg_matches(&matches));
            read.unwrap_or_else(|why| shortened(why).exit())
        }
    };
    let mut words = batch::typed_words();
    words.retain(|word| Some(word) != typed.line.as_ref());
    line::one_name(&words)?;
    args.settle().map_err(NoLine::Usage)?;
    Ok(args)
}

/// Takes a line that was typed without quotes, `berth plan srun -n4 ./app`, out of the words.
pub(crate) fn line_in(words: &mut Vec<OsString>) -> Option<OsString> {
    let is_program = |word: &OsString| {
        let name = word.to_str().and_then(|text| text.rsplit('/').next());
        name.is_some_and(|name| ["srun", "sbatch", "salloc"].contains(&name))
    };
    let command = batch::command();
    // Of `--job salloc` it is the value.
    let is_value = |at: usize| at > 0 && awaits_value(&command, &words[at - 1]);
    let mut all = words.iter().enumerate();
    let (at, _) = all.find(|(at, word)| is_program(word) && !is_value(*at))?;
    let line = words.split_off(at);
    let line: Vec<_> = line.iter().map(|word| word.to_string_lossy()).collect();
    let line = shlex::try_join(line.iter().map(AsRef::as_ref)).ok();
    line.map(OsString::from)
}

/// Whether a word is a long option whose value is the next word.
pub(crate) fn awaits_value(command: &clap::Command, word: &OsString) -> bool {
    let name = word.to_str().and_then(|word| word.strip_prefix("--"));
    let mut options = command.get_arguments();
    name.is_some()
        && options.any(|option| {
            let needs_one = option
                .get_num_args()
                .is_none_or(|most| most.min_values() > 0);
            option.get_long() == name && option.get_action().takes_values() && needs_one
        })
}

fn show(
    args: &PlanArgs,
    on: &Node,
    step: &PlannedStep,
    out: &mut impl Write,
) -> Result<(), Failure> {
    match args.format.unwrap_or(Format::Table) {
        Format::Table => table::write(out, args, on, step)?,
        Format::Masks => {
            for node in 0..step.node_count() {
                writeln!(out, "{}", masks(step.plan_of(node)))?;
            }
        }
        Format::Cpus => {
            if !step.is_bound() {
                writeln!(out, "none")?;
                return Ok(());
            }
            for task in watched(step.tasks(), step.tasks) {
                writeln!(out, "{}", task.plan().cpus)?;
            }
        }
        Format::Json => json::write(out, args, on, step)?,
        Format::Tree => pictures::tree(out, args, on, step)?,
        Format::Svg => pictures::svg(out, args, on, step)?,
        Format::Brackets => brackets::write(out, args, on, step)?,
        Format::Rankfile => rankfile::write(out, args, on, step)?,
    }
    Ok(())
}

/// Lays a step out over its nodes and plans each.
///
/// # Errors
/// Options that do not fit the machine or each other. Within: why the step would not run.
pub(crate) fn step(args: &PlanArgs, on: &Node) -> Result<Result<PlannedStep, String>, Failure> {
    let ruled = args.rules()?;
    let other;
    let on = if ruled == on.rules() {
        on
    } else {
        other = on.with_rules(ruled);
        &other
    };
    match args.job_line() {
        Some(line) if args.only_job => job::as_job(args, on, line),
        _ if controller::is_asked(args) => granted::as_granted(args, on),
        _ => given::as_given(args, on),
    }
}

/// Plans one request, unless its own command refuses it.
///
/// # Errors
/// Options that do not fit the machine.
pub(crate) fn answer_of_line(args: &PlanArgs, on: &Node) -> Result<Answer, Failure> {
    match submission::refused(args, on) {
        Some(why) => Ok(Answer::Refused(why)),
        None => answer(args, on),
    }
}

/// Plans one request. What its own command refuses is not looked at.
///
/// # Errors
/// Options that do not fit the machine.
pub(crate) fn answer(args: &PlanArgs, on: &Node) -> Result<Answer, Failure> {
    if let Some(why) = args.unknown_cpuset() {
        return Ok(Answer::Refused(why));
    }
    if let Some(why) = unmet(args, on).filter(|_| is_job(args)) {
        return Ok(Answer::Refused(format!("slurmctld refuses the job: {why}")));
    }
    Ok(match step(args, on)? {
        Ok(step) => Answer::Planned(Box::new(step)),
        Err(why) => Answer::Refused(match unmet(args, on) {
            Some(unmet) if args.cluster.is_none() && why.contains("node configuration") => {
                format!("{why}; {unmet}")
            }
            _ => devices::of_machine(args, why),
        }),
    })
}

/// The reason why slurmctld would not choose this node for a job.
fn unmet(args: &PlanArgs, on: &Node) -> Option<String> {
    srun_options::unmet(&args.srun, on.machine()?, args.socket_kind())
}

/// Whether the request has to find its node and slurmctld's model is not asked: it is no step on
/// named cores.
fn is_job(args: &PlanArgs) -> bool {
    !owns::is_listed(args) && !controller::is_asked(args) && !args.step
}

/// Said where other nodes could hold the job as well.
const NODES_ASSUMED: &str = "nodes assumed: idle ones that can hold the job, by Weight, then in the list's order; \
                             slurmctld may choose others";

/// Notes to the user, from srun's reading and from the plans.
pub(crate) fn notes(args: &PlanArgs, on: &Node, step: &PlannedStep) -> Vec<String> {
    let mut notes = args.srun.notes.clone();
    notes.extend(step.notes.iter().cloned());
    notes.extend(step.nodes_assumed.then(|| NODES_ASSUMED.into()));
    let of_site = args.site_settings.as_ref();
    notes.extend(of_site.into_iter().flat_map(|site| site.complaints.clone()));
    // A step in an allocation is not compared with its nodes (`_step_create`); a job is.
    let unmet = unmet(args, on).filter(|_| owns::is_listed(args));
    notes
        .extend(unmet.map(|why| format!("slurmctld never starts this as a job of its own: {why}")));
    if args.srun.exact && args.srun.exclusive.is_none() && is_job(args) {
        notes.push(
            "--exact gives the step only the cores that it asks for, and this plan is for the \
             whole node; leave out --cores all to plan with slurmctld's choice"
                .into(),
        );
    }
    notes.extend(foreign::notes(args));
    notes.extend(numbers::note(args, on));
    notes.extend(gives_way::note(args));
    let is_bound = step.plans().any(|(_, plan)| plan.is_bound());
    notes.extend(args.confine_note(is_bound).map(String::from));
    notes.extend(args.pool_note(step, on));
    notes.extend(request::left_out(on));
    let plans = step.plans().flat_map(|(_, plan)| &plan.notes);
    let plans = plans.map(|note| devices::of_machine(args, note.to_string()));
    let variables = Variables::of_step(args, step);
    let variables = variables.iter().flat_map(Variables::notes);
    for note in plans.chain(variables) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

/// Exactly the text in the launch message.
pub(crate) fn masks(plan: &Plan) -> String {
    plan.text().unwrap_or_else(|| "none".into())
}
