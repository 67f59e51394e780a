//! `berth plan`: one request, or a file of them, answered in the format asked for.

use std::process::ExitCode;

use berth_placement::{Host, Plan, Refusal, plan};

use crate::Failure;
use crate::args::{Format, PlanArgs};
use crate::request::{host, request, socket_kind};
use crate::srun_options::{ExtraNodeInfo, derive};
use crate::{batch, table};

/// What came of one request.
pub(crate) enum Answer {
    /// The step would run.
    Planned(Box<Plan>),
    /// It would be refused, with the reason.
    Refused(String),
}

/// Runs the subcommand.
///
/// # Errors
/// A machine or file that cannot be read.
pub(crate) fn run(args: &PlanArgs) -> Result<ExitCode, Failure> {
    if let Some(path) = &args.batch {
        return batch::run(args, path);
    }
    let on = host(args)?;
    let plan = match answer(args, &on)? {
        Answer::Planned(plan) => plan,
        Answer::Refused(why) => {
            eprintln!("berth: refused: {why}");
            return Ok(ExitCode::FAILURE);
        }
    };
    match args.format.unwrap_or(Format::Table) {
        Format::Table => print!("{}", table::table(args, &on, &plan)),
        Format::Masks => println!("{}", masks(&plan)),
        Format::Cpus => println!("{}", cpus(&plan).join("\n")),
    }
    for note in notes(args, &on, &plan) {
        eprintln!("berth: note: {note}");
    }
    Ok(ExitCode::SUCCESS)
}

/// Plans one request.
///
/// # Errors
/// Options that do not fit the machine.
pub(crate) fn answer(args: &PlanArgs, on: &Host) -> Result<Answer, Failure> {
    if let Some(why) = too_many(args).or_else(|| unmet(args, on).filter(|_| is_job(args))) {
        return Ok(Answer::Refused(why));
    }
    let ask = request(args, on)?;
    Ok(match plan(&ask, on) {
        Ok(plan) => Answer::Planned(Box::new(plan)),
        Err(why @ Refusal::NoTasks) => return Err(why.into()),
        Err(why) => Answer::Refused(why.to_string()),
    })
}

fn too_many(args: &PlanArgs) -> Option<String> {
    let (Some(tasks), Some(most)) = (args.ntasks, args.ntasks_per_node) else {
        return None;
    };
    (tasks > most).then(|| {
        format!(
            "{tasks} tasks asked, at most {most} a node; this is one node: leave --ntasks-per-node \
             out, or ask for its share of the tasks with -n"
        )
    })
}

/// Why slurmctld would not choose this node for a job.
fn unmet(args: &PlanArgs, on: &Host) -> Option<String> {
    let parts = ExtraNodeInfo::at_least(args.sockets_per_node, args.cores_per_socket);
    let extra = args.extra_node_info.as_ref().unwrap_or(&parts);
    extra.unmet(on.machine.as_ref()?, socket_kind(args.socket))
}

/// Whether the request would have to find its node, or is a step on cores that it has.
fn is_job(args: &PlanArgs) -> bool {
    args.cores.is_none() && args.cpus.is_none()
}

/// What the user should know, from srun's ways and from the plan.
pub(crate) fn notes(args: &PlanArgs, on: &Host, plan: &Plan) -> Vec<String> {
    let mut notes: Vec<_> = derive(args).note.into_iter().collect();
    // A step in an allocation is not compared with its nodes (`_step_create`); a job is.
    notes.extend(unmet(args, on).map(|why| format!("as a job of its own it never starts: {why}")));
    if args.exact && is_job(args) {
        notes.push(
            "--exact has slurmctld choose the cores, which is not planned here; name them with \
             --cores"
                .into(),
        );
    }
    notes.extend(
        args.cpu_bind
            .as_ref()
            .and_then(|bind| bind.note("--cpu-bind")),
    );
    notes.extend(
        args.mem_bind
            .as_ref()
            .and_then(|bind| bind.note("--mem-bind")),
    );
    notes.extend(plan.notes.iter().map(ToString::to_string));
    notes
}

/// Exactly the text in the launch message.
pub(crate) fn masks(plan: &Plan) -> &str {
    plan.message.text().unwrap_or("none")
}

/// One list a task, in local-id order.
pub(crate) fn cpus(plan: &Plan) -> Vec<String> {
    if !plan.is_bound() {
        return vec!["none".into()];
    }
    plan.tasks
        .iter()
        .map(|task| task.cpus.to_string())
        .collect()
}
