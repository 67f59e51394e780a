//! Traps that only a plan shows, on a known machine: refused requests, requests that are served
//! otherwise or not at all, and tasks that share a core.

use std::sync::OnceLock;

use berth_placement::{CpuSet, Node, Rule};
use clap::{Args, Command, FromArgMatches};

use super::case::Case;
use super::finding::Finding;
use crate::Failure;
use crate::args::{OwnedCores, PlanArgs, SrunOptions};
use crate::here;
use crate::parents::Parents;
use crate::plan::{self, Answer, PlannedStep};

/// The machine named on the command line.
///
/// # Errors
/// What hwloc could not read.
pub(super) fn host(machine: &str) -> Result<Node, Failure> {
    let words = ["--machine".to_string(), machine.to_string()];
    let mut args = parsed(&words).map_err(|why| why.to_string())?;
    // On this node its slurmd's own words count.
    args.standing = here::standing(&args.machine, None);
    plan::node(&args)
}

fn parsed(words: &[String]) -> Result<PlanArgs, clap::Error> {
    let command = PlanArgs::augment_args(Command::new("berth plan").no_binary_name(true));
    PlanArgs::from_arg_matches(&command.try_get_matches_from(words)?)
}

/// A plan without options; made once, because clap takes its time.
fn plain() -> Option<&'static PlanArgs> {
    static PLAIN: OnceLock<Option<PlanArgs>> = OnceLock::new();
    PLAIN.get_or_init(|| parsed(&[]).ok()).as_ref()
}

/// The step's request as a plan's; none if only the shell knows what matters.
fn request(case: &Case<'_>, host: &Node) -> Option<PlanArgs> {
    let mut args = plain()?.clone();
    args.binding = case.has("binding").and_then(|value| value.parse().ok());
    args.slurm = Some(case.around.release);
    args.constrain_cores = host.rules().constrain_cores;
    args.srun = SrunOptions::of(case.asked.as_ref().ok()?.clone());
    let (tasks, nodes) = (case.tasks()?, case.nodes()?);
    if !case.knows(&["cpu-bind", "cpus-per-task", "distribution", "binding"]) {
        return None;
    }
    if !case.is_whole() {
        // On a shared node a job has the cores that it asks for. Which ones is not known.
        let of_job = case.job.as_ref();
        let tasks = of_job.map_or(tasks, |job| job.tasks().max(tasks));
        let each = case.cpus_per_task()?;
        let threads = match args.srun.threads_per_core {
            Some(threads) => threads.max(1),
            None => host.shape().threads.max(1),
        };
        let cores = tasks
            .div_ceil(nodes.max(1))
            .checked_mul(each)?
            .div_ceil(threads);
        args.cores = Some(OwnedCores::Listed(CpuSet::first(
            cores.min(host.shape().core_count()).max(1),
        )));
    }
    Some(args)
}

/// Whether a plan refuses the step.
pub(super) fn is_refused(case: &Case<'_>, host: &Node) -> bool {
    let answer = request(case, host).and_then(|args| plan::answer(&args, host).ok());
    matches!(answer, Some(Answer::Refused(_)))
}

/// The findings from the plan on a known machine.
pub(super) fn on_machine(case: &Case<'_>) -> Vec<Finding> {
    let planned = || {
        let host = case.around.host?;
        let args = request(case, host)?;
        Some((host, plan::answer(&args, host).ok()?, args))
    };
    let Some((host, answer, args)) = planned() else {
        return Vec::new();
    };
    // The numbers of a job's CPUs on a shared node are not known.
    if case.is_list() && !case.is_whole() {
        return Vec::new();
    }
    let step = match answer {
        Answer::Planned(step) => step,
        Answer::Refused(why) => {
            let finding = case.warning("refused", why, "the step does not run there");
            return vec![finding.or(case.bind_to("cores"))];
        }
    };
    let wrong = unbound(case, &step)
        .or_else(|| more_tasks_than_cores(case, &args, (host, &step)))
        .or_else(|| shared_core(case, (host, &step)))
        .or_else(|| noted(case, &step));
    let wrong = wrong.into_iter();
    wrong
        .chain(neighbours_apart(case, &args, (host, &step)))
        .collect()
}

/// Nothing is asked for and no level fits, so srun's tasks stay where the kernel puts them.
fn unbound(case: &Case<'_>, step: &PlannedStep) -> Option<Finding> {
    let fits_nothing = |plan: &berth_placement::Plan| plan.decision.rule == Rule::NoMatch;
    step.plans().any(|(_, plan)| fits_nothing(plan)).then(|| {
        let tasks = step.tasks;
        let finding = case.warning(
            "nothing-bound",
            format!("{tasks} task(s) fit neither the threads, nor the cores, nor the sockets of the step"),
            "srun binds by itself only if tasks × CPUs per task match one of the three exactly; here \
             every task may run on all CPUs of the step",
        );
        // A task that has everything loses nothing.
        let alone = tasks == step.node_count();
        match alone {
            true => Finding { level: super::finding::Level::Hint, ..finding },
            false => finding.or(case.bind_to("cores")).or(case.insert("--cpu-bind=cores")),
        }
    })
}

fn more_tasks_than_cores(
    case: &Case<'_>,
    args: &PlanArgs,
    (host, step): (&Node, &PlannedStep),
) -> Option<Finding> {
    let cores = host.shape().core_count() * step.node_count();
    let wants_threads = uses_threads(args) || args.srun.overcommit;
    (step.tasks > cores && step.is_bound() && !wants_threads).then(|| {
        let finding = case.warning(
            "more-tasks-than-cores",
            format!("{} tasks on {cores} cores", step.tasks),
            "some tasks share a core; each has one hardware thread of it, or all of them; with \
             --cpu-bind=threads each has one",
        );
        finding.or(case.bind_to("threads"))
    })
}

fn shared_core(case: &Case<'_>, (host, step): (&Node, &PlannedStep)) -> Option<Finding> {
    let (one, other, core) = case.is_list().then(|| on_one_core(host, step)).flatten()?;
    let finding = case.warning(
        "list-on-one-core",
        format!("tasks {one} and {other} are on hardware threads of one core ({core})"),
        "the list assumes another numbering of the CPUs (berth topo shows it); --cpu-bind=cores needs \
         no numbers",
    );
    Some(finding.or(case.bind_to("cores")))
}

fn noted(case: &Case<'_>, step: &PlannedStep) -> Option<Finding> {
    let note = step.plans().flat_map(|(_, plan)| &plan.notes).next()?;
    Some(case.warning(
        "not-as-asked",
        note.to_string(),
        "the step runs there, but not as requested",
    ))
}

/// Neighbours on different sockets, where the other order would place them otherwise.
fn neighbours_apart(
    case: &Case<'_>,
    args: &PlanArgs,
    (host, step): (&Node, &PlannedStep),
) -> Option<Finding> {
    let gpus = ["gpus", "gpus-per-node", "gpus-per-task", "gpus-per-socket"];
    let of_job = |name: &str| case.is_set(name) || case.job_option(name).is_some();
    let gres = case.has("gres").or(case.job_option("gres").flatten());
    let with_devices =
        gpus.iter().any(|name| of_job(name)) || gres.is_some_and(|gres| gres.contains("gpu"));
    let matters = with_devices || case.cpus_per_task().is_some_and(|cpus| cpus > 1);
    let levels = case.has("distribution").unwrap_or_default();
    let decided =
        levels.contains(':') || levels.starts_with("plane") || levels.starts_with("arbitrary");
    if decided || !matters || !step.is_bound() {
        return None;
    }
    let mut other = args.clone();
    let nodes = levels
        .split(',')
        .next()
        .filter(|nodes| !nodes.is_empty())
        .unwrap_or("block");
    other.srun.asked_mut().distribution =
        berth_srun::spelling::distribution(&format!("{nodes}:block")).ok();
    let Answer::Planned(blocks) = plan::answer(&other, host).ok()? else {
        return None;
    };
    let places = |step: &PlannedStep| {
        step.tasks()
            .map(|task| task.plan().cpus.clone())
            .collect::<Vec<_>>()
    };
    (places(&blocks) != places(step)).then(|| {
        case.hint(
            "cyclic-default",
            "-m does not order the sockets".into(),
            "by default the next task goes to the next socket, so neighbours are apart; -m block:block \
             keeps them together, -m block:cyclic says that it is meant",
        )
    })
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
