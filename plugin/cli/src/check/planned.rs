//! Traps that only a plan shows: wrong values, and on a known machine refused requests, reduced
//! requests, and tasks that share a core.

use berth_placement::Node;
use clap::{Args, Command, FromArgMatches};

use super::Finding;
use super::case::Case;
use crate::Failure;
use crate::args::{PlanArgs, SrunOptions};
use crate::parents::Parents;
use crate::plan::{self, Answer, PlannedStep};

/// The machine named on the command line.
pub(super) fn host(machine: &str) -> Result<Node, Failure> {
    let words = ["--machine".to_string(), machine.to_string()];
    plan::node(&parsed(&words).map_err(|why| why.to_string())?)
}

fn parsed(words: &[String]) -> Result<PlanArgs, clap::Error> {
    let command = PlanArgs::augment_args(Command::new("berth plan").no_binary_name(true));
    PlanArgs::from_arg_matches(&command.try_get_matches_from(words)?)
}

/// The step's request as a plan's.
fn request(case: &Case<'_>) -> Result<PlanArgs, String> {
    let binding = case
        .has("binding")
        .filter(|value| !value.contains(['$', '`']));
    let words: Vec<_> = binding
        .map(|value| format!("--binding={value}"))
        .into_iter()
        .collect();
    let mut args = parsed(&words).map_err(|why| first_line(&why.to_string()))?;
    args.slurm = Some(case.rules());
    args.srun = SrunOptions::of(case.asked().map_err(|why| why.to_string())?);
    Ok(args)
}

fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    line.trim_start_matches("error: ").into()
}

/// A value that srun or berth would not take.
pub(super) fn wrong_value(case: &Case<'_>) -> Option<Finding> {
    let why = request(case).err()?;
    Some(Finding::warning(
        case.command,
        "wrong-value",
        why,
        "srun refuses the line",
        String::new(),
    ))
}

/// The finding from the plan on a known machine.
pub(super) fn on_machine(case: &Case<'_>) -> Option<Finding> {
    let host = case.host?;
    let args = request(case).ok()?;
    let found = |rule, found: String, why: &str, instead| {
        Some(Finding::warning(case.command, rule, found, why, instead))
    };
    let step = match plan::answer(&args, host).ok()? {
        Answer::Planned(step) => step,
        Answer::Refused(why) => {
            return found("refused", why, "the step does not run there", String::new());
        }
    };
    let shape = host.shape();
    let cores = shape.core_count() * step.node_count();
    if step.tasks > cores && step.is_bound() && !args.srun.overcommit && !uses_threads(&args) {
        return found(
            "more-tasks-than-cores",
            format!("{} tasks on {cores} cores", step.tasks),
            "some tasks share a core; each has one hardware thread of it, or all of them",
            case.rewritten(&["ntasks"], &[&format!("-n{cores}")]),
        );
    }
    if let Some((one, other, core)) = case.is_list().then(|| on_one_core(host, &step)).flatten()
        && step.tasks <= cores
    {
        return found(
            "list-on-one-core",
            format!("tasks {one} and {other} are on hardware threads of one core ({core})"),
            "the list assumes another numbering of the CPUs (berth topo shows it); \
             --cpu-bind=cores needs no numbers",
            case.rewritten(&["cpu-bind"], &["--cpu-bind=cores"]),
        );
    }
    let note = step.plans().flat_map(|(_, plan)| &plan.notes).next()?;
    found(
        "not-as-asked",
        note.to_string(),
        "the step runs there, but not as requested",
        String::new(),
    )
}

/// Two tasks of a node that have CPUs of their own but share a core.
fn on_one_core(host: &Node, step: &PlannedStep) -> Option<(usize, usize, u32)> {
    let parents = Parents::new(host.machine()?, host.socket());
    let tasks = &step.plan_of(0).tasks;
    let pairs = (0..tasks.len()).flat_map(|one| (0..one).map(move |other| (other, one)));
    for (one, other) in pairs {
        let (first, second) = (&tasks[one].cpus, &tasks[other].cpus);
        let mut both = parents.cores_of(first).filter(|place| {
            let cpus = parents.cpus_of(place.id);
            cpus.iter().any(|cpu| second.contains(*cpu))
        });
        if !first.intersects(second)
            && let Some(core) = both.next()
        {
            return Some((one, other, core.id.0));
        }
    }
    None
}

/// Whether hardware threads are what the user wants.
fn uses_threads(args: &PlanArgs) -> bool {
    let bind = &args.srun.cpu_bind;
    bind.level == Some(berth_placement::Level::Threads) && !bind.one_thread
}
