//! `berth plan`: answers one request, or a file of them, in the requested format.

mod batch;
mod brackets;
mod explain;
mod json;
mod pictures;
mod rankfile;
mod request;
mod step;
mod table;

use std::io::Write;
use std::process::ExitCode;

use berth_placement::{Node, Plan};

use crate::Failure;
use crate::args::{Format, PlanArgs};
use crate::progress::watched;
use crate::say;
use crate::srun_options;

pub(crate) use request::{node, socket_kind};
pub(crate) use step::PlannedStep;

/// The answer to one request.
pub(crate) enum Answer {
    /// The step would run.
    Planned(Box<PlannedStep>),
    /// It would be refused, with the reason.
    Refused(String),
}

/// Runs the subcommand.
///
/// # Errors
/// A machine or file that cannot be read, an output that cannot be written.
pub(crate) fn run(args: &PlanArgs) -> Result<ExitCode, Failure> {
    if let Some(path) = &args.batch {
        return batch::run(args, path);
    }
    let on = node(args)?;
    let step = match answer(args, &on)? {
        Answer::Planned(step) => step,
        Answer::Refused(why) => {
            say::refused(&why);
            return Ok(ExitCode::FAILURE);
        }
    };
    let format = args.format.unwrap_or(Format::Table);
    let mut out: Box<dyn Write> = match format {
        Format::Table | Format::Tree | Format::Brackets => Box::new(say::text_output()),
        _ => Box::new(say::output()),
    };
    show(args, &on, &step, &mut out)?;
    if args.explain {
        match format {
            Format::Table | Format::Tree | Format::Brackets => {
                explain::write(&mut out, args, &on, &step)?;
            }
            // It has them.
            Format::Json => {}
            // Programs read these formats, and people read stderr.
            Format::Masks | Format::Cpus | Format::Svg | Format::Rankfile => {
                explain::write(&mut std::io::stderr(), args, &on, &step)?;
            }
        }
    }
    out.flush()?;
    for note in notes(args, &on, &step) {
        say::note(&note);
    }
    Ok(ExitCode::SUCCESS)
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

/// Plans one request.
///
/// # Errors
/// Options that do not fit the machine.
pub(crate) fn answer(args: &PlanArgs, on: &Node) -> Result<Answer, Failure> {
    if let Some(why) = unmet(args, on).filter(|_| is_job(args)) {
        return Ok(Answer::Refused(why));
    }
    Ok(match step::step(args, on)? {
        Ok(step) => Answer::Planned(Box::new(step)),
        Err(why) => Answer::Refused(why),
    })
}

/// The reason why slurmctld would not choose this node for a job.
fn unmet(args: &PlanArgs, on: &Node) -> Option<String> {
    srun_options::unmet(&args.srun, on.machine()?, socket_kind(args.socket))
}

/// Whether the request would have to find its node, or is a step on cores that it has.
fn is_job(args: &PlanArgs) -> bool {
    args.cores.is_none() && args.cpus.is_none()
}

/// Notes to the user, from srun's reading and from the plans.
pub(crate) fn notes(args: &PlanArgs, on: &Node, step: &PlannedStep) -> Vec<String> {
    let mut notes = args.srun.notes.clone();
    notes.extend(step.notes.iter().cloned());
    // A step in an allocation is not compared with its nodes (`_step_create`); a job is.
    notes.extend(
        unmet(args, on)
            .map(|why| format!("slurmctld never starts this as a job of its own: {why}")),
    );
    if args.srun.exact && args.srun.exclusive.is_none() && is_job(args) {
        notes.push(
            "with --exact slurmctld chooses the cores, and berth plan cannot know its choice; \
             name them with --cores"
                .into(),
        );
    }
    notes.extend(request::left_out(on));
    let plans = step.plans().flat_map(|(_, plan)| &plan.notes);
    for note in plans.map(ToString::to_string) {
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
