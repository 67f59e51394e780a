//! `--binding`: requests that can never fit, and start positions on shared nodes.
//!
//! Lists of CPUs by number.

use berth_placement::Binding;
use berth_placement::request::grid_engine::{Scope, Strategy};
use berth_srun::Program;
use berth_srun::submission::{Words, never_fits as submission};

use crate::check::case::Case;
use crate::check::command::{Command, Kind};
use crate::check::finding::Finding;
use crate::check::planned;

/// The amount of a strategy that has one.
fn amount(binding: &Binding) -> Option<u32> {
    match &binding.strategy {
        Strategy::Linear { amount, .. } | Strategy::Striding { amount, .. } => Some(*amount),
        Strategy::Explicit(places) => Some(places.len() as u32),
        Strategy::None | Strategy::Auto(_) => None,
    }
}

/// What the submitting command itself refuses, by its own function.
pub(super) fn never_fits(case: &Case<'_>) -> Option<Finding> {
    case.command.option("binding")?;
    let binding: Binding = case.own("binding")?;
    if !case.command.is_complete() || case.script.has_components {
        return None;
    }
    let why = submitted(case, |words, env| submission::why(&binding, words, env))?;
    let amount = amount(&binding)?;
    let tasks = case.tasks()?;
    let is_per_task =
        binding.scope == Scope::Task && !matches!(binding.strategy, Strategy::Explicit(_));
    let meant_threads =
        is_per_task && tasks > 1 && amount == tasks && case.cpus_per_task() == Some(1);
    let (rule, reason) = match meant_threads {
        true => (
            "binding-per-task",
            "-n counts processes, and each gets the amount; for one process with that many threads \
             use -n1 and -c",
        ),
        false => ("binding-never-fits", "the submitting command refuses it"),
    };
    let each = match is_per_task {
        true => amount,
        false => amount.div_ceil(tasks.max(1)),
    };
    let finding = case.warning(rule, why, reason);
    let threads = || case.set(&["-n1".into(), format!("-c{amount}")]);
    let threads = meant_threads.then(threads).flatten();
    Some(finding.or(threads).or(case.set(&[format!("-c{each}")])))
}

/// What the submitting command knows: its words, and its variables.
pub(super) fn submitted<T>(
    case: &Case<'_>,
    ask: impl FnOnce(&Words, &dyn Fn(&str) -> Option<String>) -> Option<T>,
) -> Option<T> {
    let words = words(case, case.command.kind.program(), case.command);
    let job = match (&case.script.job, case.command.kind) {
        (Some(job), Kind::Srun) => Some(planned::job_cpus(case).or_else(|| job_cpus(case, job))?),
        _ => None,
    };
    ask(&words, &|name| match (name, &job) {
        ("SLURM_JOB_ID", Some(_)) => Some("1".into()),
        ("SLURM_JOB_CPUS_PER_NODE", Some(cpus)) => Some(cpus.to_string()),
        ("SLURM_NTASKS", Some(_)) => Some(case.job.as_ref()?.tasks().to_string()),
        _ => Some(case.command.variables.get(name)?.value.to_string()),
    })
}

/// The words of a command, and whether its job may get more cores than it requests.
fn words(case: &Case<'_>, program: Program, command: &Command) -> Words {
    let texts = command.words.iter().map(|word| word.text.as_str());
    let words = Words::read(program.name(), texts, case.around.release);
    let variable = |name: &str| Some(command.variables.get(name)?.value.to_string());
    let config = case.around.config();
    let is_larger = config.is_some_and(|config| words.may_get_more(config, variable));
    match case.is_whole() || is_larger {
        true => words.where_jobs_may_get_more(),
        false => words,
    }
}

/// The CPUs of a job that has no more than it requests; none if that is not sure.
pub(super) fn job_cpus(case: &Case<'_>, job: &Command) -> Option<u32> {
    if case.is_whole() || !job.is_complete() {
        return None;
    }
    let words = words(case, Program::Sbatch, job);
    let env = |_: &str| None;
    words
        .tasks(env)?
        .checked_mul(words.most_cpus_per_task(env)?)
}

/// Named cores where other jobs may be.
pub(super) fn start_on_shared_nodes(case: &Case<'_>) -> Option<Finding> {
    let binding: Binding = case.own("binding")?;
    let starts = match &binding.strategy {
        Strategy::Linear { start, .. } | Strategy::Striding { start, .. } => start.is_some(),
        Strategy::Explicit(_) => true,
        Strategy::None | Strategy::Auto(_) => false,
    };
    (starts && !case.is_whole()).then(|| {
        case.hint(
            "binding-start",
            format!("--binding={binding} without --exclusive"),
            "if the job shares its node, the named cores may belong to another job, and then no task \
             is bound; a strategy without a start takes cores that are free",
        )
    })
}

/// The largest list in the place of `rank`.
pub(super) fn on_several_nodes(case: &Case<'_>) -> Option<Finding> {
    let nodes = case.nodes().filter(|nodes| *nodes > 1)?;
    if !case.is_list() || case.is_whole() {
        return None;
    }
    let finding = case.hint(
        "list-on-several-nodes",
        format!("--cpu-bind={} on {nodes} nodes", case.cpu_bind()),
        "the list names CPUs by the kernel's numbers on every node; it fits if jobs get whole nodes \
         there (then give --site exclusive), else --cpu-bind=cores chooses among the job's CPUs",
    );
    Some(finding)
}

pub(super) fn on_part_of_a_node(case: &Case<'_>) -> Option<Finding> {
    (case.is_list() && case.nodes() == Some(1) && !case.is_whole()).then(|| {
        case.hint(
            "list-on-part-of-a-node",
            format!("--cpu-bind={} without --exclusive", case.cpu_bind()),
            "if the job shares its node, nobody knows beforehand which CPUs it gets, and a list that \
             names others is refused; in a job with --exclusive the list fits, --cpu-bind=cores needs none",
        )
    })
}

pub(super) fn rank(case: &Case<'_>) -> Option<Finding> {
    let bind = case.cpu_bind();
    let word = bind.split(',').find(|word| *word == "rank")?;
    let is_gone = case.around.release >= berth_srun::Release::V24_11;
    let finding = case.warning(
        "rank",
        format!("--cpu-bind={word}"),
        match is_gone {
            true => "Slurm 24.11 removed it, and srun ignores it",
            false => {
                "Slurm 24.11 removes it; --cpu-bind=threads gives each task a thread of its own"
            }
        },
    );
    let others = bind
        .split(',')
        .map(|one| if one == "rank" { "threads" } else { one });
    let others = others.collect::<Vec<_>>().join(",");
    Some(finding.hint_if(!is_gone).or(case.bind_to(&others)))
}
