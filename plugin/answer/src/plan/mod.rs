//! `berth plan`: answers one request, or a file of them, in the requested format.

mod change;
pub(crate) mod controller;
mod cpuset;
mod cpuset_words;
mod decision;
mod devices;
mod effective_options;
mod explain;
mod for_programs;
mod from_options;
mod gpu_options;
mod granted;
mod job;
mod json;
mod notes;
pub(crate) mod owns;
mod pictures;
mod pool;
mod premises;
mod request;
mod site;
mod step;
mod submission;
mod table;

use std::io::Write;

use berth_placement::{Message, Node, Plan};

use crate::args::Format;
use crate::lines::NoAnswer;
use crate::picture::Screen;
use crate::{Failure, Question};

pub(crate) use change::shared;
pub(crate) use controller::job_refused;
pub use explain::reasons;
pub use for_programs::{no_line, one_line};
pub(crate) use gpu_options::cpus_for_gpus;
pub(crate) use job::answered;
pub(crate) use notes::gives_way;
pub use notes::notes;
pub use pool::most_of_pools;
pub use request::node;
pub use step::{Answered, Planned, PlannedStep};
pub(crate) use step::{JobStep, StepAnswer};
pub use submission::job_cpus;

/// Said of a script where a format has room for one step.
const ONE_STEP: &str = "this format shows the batch script alone; for a step give its line: berth plan --job 'sbatch \
                        job.sh' 'srun …'";

/// Writes a plan in the format that is asked for, with the steps of a script. Returns a note on what the format
/// cannot say.
///
/// # Errors
/// A plan that the format cannot show, and those of `out`.
pub fn show(
    of: Answered<'_>,
    screen: Screen,
    out: &mut impl Write,
) -> Result<Option<&'static str>, Failure> {
    let step = of.step;
    let format = of.args.format.unwrap_or(Format::Table);
    match format {
        Format::Json => json::write(out, of)?,
        Format::Svg => pictures::svg(out, of)?,
        Format::Rankfile => {
            let note = for_programs::rank_file(out, of)?;
            return Ok(script_alone(step).or(note));
        }
        Format::Masks | Format::Cpus => listed(out, format, step)?,
        Format::Table | Format::Tree | Format::Brackets => {
            table::head(out, of, screen)?;
            let body = |out: &mut _, of: Answered<'_>| match format {
                Format::Tree => pictures::tree(out, of, screen),
                Format::Brackets => Ok(for_programs::brackets(out, of)?),
                _ => Ok(table::write_tasks(out, of, screen)?),
            };
            body(out, of)?;
            table::each_step(out, of, screen, body)?;
        }
    }
    Ok(script_alone(step).filter(|_| format == Format::Svg))
}

fn script_alone(step: &PlannedStep) -> Option<&'static str> {
    let job = step.job.as_ref()?;
    job.submits.as_ref().map(|_| ONE_STEP)
}

/// Masks, or CPUs, for programs; those of a script each behind a line with its words.
fn listed(out: &mut impl Write, format: Format, step: &PlannedStep) -> Result<(), Failure> {
    let steps = step.job.iter().flat_map(|job| &job.steps);
    let steps: Vec<_> = steps.filter(|one| one.answer.is_some()).collect();
    if !steps.is_empty() {
        writeln!(out, "# the batch script")?;
    }
    write_list(out, format, step)?;
    for one in steps {
        writeln!(out, "# {}", one.title())?;
        if let Some(inside) = one.planned() {
            write_list(out, format, &inside.step)?;
        }
    }
    Ok(())
}

fn write_list(out: &mut impl Write, format: Format, step: &PlannedStep) -> Result<(), Failure> {
    let lines = for_programs::listed(format, step);
    Ok(lines.iter().try_for_each(|line| writeln!(out, "{line}"))?)
}

/// Lays a step out over its nodes and plans each.
///
/// # Errors
/// [`NoAnswer`], and options that do not fit the machine or each other.
fn step(args: &Question, on: &Node) -> Result<PlannedStep, Failure> {
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
        _ if owns::uses_controller(args) => granted::as_granted(args, on),
        _ => from_options::plan(args, on),
    }
}

/// Plans one request, unless its own command refuses it.
///
/// # Errors
/// [`NoAnswer`] where it would not run, and options that do not fit the machine.
pub fn answer_of_line(args: &Question, on: &Node) -> Result<PlannedStep, Failure> {
    match submission::refused(args, on) {
        Some(why) => Err(NoAnswer::Refused(why).into()),
        None => answer(args, on),
    }
}

/// Plans one request. What its own command refuses is not looked at.
///
/// # Errors
/// [`NoAnswer`] where it would not run, and options that do not fit the machine.
pub fn answer(args: &Question, on: &Node) -> Result<PlannedStep, Failure> {
    args.has_known_cpuset()?;
    // A request for whole nodes has to find them, and slurmctld's model is not asked.
    if let Some(why) = controller::unmet(args, on).filter(|_| owns::is_whole(args)) {
        return Err(NoAnswer::Refused(format!("slurmctld refuses the job: {why}")).into());
    }
    let step = step(args, on).map_err(|why| match why.downcast() {
        Ok(why) => with_options(args, on, *why).into(),
        Err(why) => why,
    })?;
    match gpu_options::refused(step.answered(args, on)) {
        Some(why) => Err(NoAnswer::Refused(why).into()),
        None => Ok(step),
    }
}

/// A refusal, with what the options say of it.
fn with_options(args: &Question, on: &Node, why: NoAnswer) -> NoAnswer {
    let NoAnswer::Refused(why) = why else {
        return why;
    };
    match (controller::unmet(args, on), gpu_options::other_cores(args)) {
        (Some(unmet), _) if args.cluster.is_none() && why.contains("node configuration") => {
            NoAnswer::Refused(format!("{why}; {unmet}"))
        }
        (_, Some(gpus)) if why.contains(" names CPU") => {
            NoAnswer::NotModelled(format!("{gpus}; on those of this plan {why}"))
        }
        _ => NoAnswer::Refused(devices::of_machine(args, why)),
    }
}

/// Exactly the text in the launch message, preceded by its kind where that is not masks.
pub fn masks(plan: &Plan) -> String {
    bound_to(plan).unwrap_or_else(|| "none".into())
}

/// The text of the binding in the launch message; `None` where nothing is bound.
fn bound_to(plan: &Plan) -> Option<String> {
    match &plan.message {
        Message::AsAsked(list) | Message::Rewritten(list) => Some(list.as_sent()),
        _ => plan.text(),
    }
}
