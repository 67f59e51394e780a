//! berth's own options: requests that can never be served, by the submitting command's own functions, options that
//! contradict each other, by the engine's, and start positions on shared nodes.

use berth_placement::request::grid_engine::{Scope, Strategy};
use berth_placement::{Binding, CpusetRequest, Near, Refusal, Request, Wish, near_beside_cpuset};
use berth_srun::submission::{Words, cpuset, never_fits};
use berth_srun::{Own, Program};

use crate::check::case::{Case, MAPPING};
use crate::check::command::{Command, Kind};
use crate::check::finding::Finding;
use crate::check::planned;
use crate::plan;

const REFUSED: &str = "the submitting command refuses it";

/// The amount of a strategy that has one.
fn amount(binding: &Binding) -> Option<u32> {
    match &binding.strategy {
        Strategy::Linear { amount, .. } | Strategy::Striding { amount, .. } => Some(*amount),
        Strategy::Explicit(places) => Some(places.len() as u32),
        Strategy::None | Strategy::Auto(_) => None,
    }
}

/// A `--binding` that the submitting command refuses: its own function says so.
pub(super) fn binding_never_fits(case: &Case<'_>) -> Option<Finding> {
    case.command.option("binding")?;
    let binding: Binding = case.own("binding")?;
    if !case.command.is_complete() || case.script.has_components {
        return None;
    }
    let why = submitted(case, |words, env| never_fits::why(&binding, words, env))?;
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
        false => ("binding-never-fits", REFUSED),
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

/// The refusal of the submitting command, which knows its words and its variables.
fn submitted<T>(
    case: &Case<'_>,
    refusal: impl FnOnce(&Words, &dyn Fn(&str) -> Option<String>) -> Option<T>,
) -> Option<T> {
    let words = words(case, case.command.kind.program(), case.command);
    let job = match (&case.script.job, case.command.kind) {
        (Some(job), Kind::Srun) => Some(planned::job_cpus(case).or_else(|| job_cpus(case, job))?),
        _ => None,
    };
    refusal(&words, &|name| match (name, &job) {
        ("SLURM_JOB_ID", Some(_)) => Some("1".into()),
        ("SLURM_JOB_CPUS_PER_NODE", Some(cpus)) => Some(cpus.to_string()),
        ("SLURM_NTASKS", Some(_)) => Some(case.job.as_ref()?.tasks().to_string()),
        _ => case
            .job_variables
            .value_of(case.command.variables.get(name)?),
    })
}

/// The words of a command, and whether its job may get more cores than it requests.
fn words(case: &Case<'_>, program: Program, command: &Command) -> Words {
    let texts = command.words.iter().map(|word| word.text.as_str());
    let words = Words::read(program.name(), texts, case.around.release);
    let variable = |name: &str| case.job_variables.value_of(command.variables.get(name)?);
    let config = case.around.config();
    let is_larger = config.is_some_and(|config| words.may_get_more(config, variable));
    match case.is_whole() || is_larger {
        true => words.where_jobs_may_get_more(),
        false => words,
    }
}

/// The CPUs of a job that has no more than it requests; none if that is not sure. With `--ntasks-per-core` it has whole
/// cores for its tasks, and how many threads these have depends on the node.
pub(super) fn job_cpus(case: &Case<'_>, job: &Command) -> Option<u32> {
    let has_cores = job.option("ntasks-per-core").is_some();
    if case.is_whole() || has_cores || !job.is_complete() {
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

/// `pe=N` that the submitting command itself refuses.
pub(super) fn mapping_never_fits(case: &Case<'_>) -> Option<Finding> {
    let is_given = MAPPING
        .iter()
        .any(|name| case.command.option(name).is_some());
    if !is_given || !case.knows(&MAPPING) || case.script.has_components {
        return None;
    }
    let mapping = case.mapping().ok()??;
    let why = submitted(case, |words, env| never_fits::mapping(&mapping, words, env))?;
    let more = mapping
        .each()
        .and_then(|each| case.set(&[format!("-c{each}")]));
    Some(case.warning("mapping-never-fits", why, REFUSED).or(more))
}

/// Two options that choose the CPUs.
pub(super) fn contradicted(case: &Case<'_>) -> Option<Finding> {
    let names = [&["near", "binding", "cpu-bind"], &MAPPING[..]].concat();
    // A variable of the script may give it.
    if !names.iter().any(|name| case.is_set(name)) || !case.knows(&names) {
        return None;
    }
    let request = Request {
        near: case.own("near"),
        mapping: case.mapping().ok()?,
        binding: case.own("binding"),
        cpu_bind: case.request.as_ref().ok()?.cpu_bind.clone(),
        ..Request::default()
    };
    let Err(both) = Wish::of(&request) else {
        return near_and_cpuset(case, request.near.as_ref()?);
    };
    let is_list = matches!(both.other, Wish::List(_));
    let (rule, repair) = match (&both.one, is_list) {
        (Wish::Near(_), _) => ("near-and-others", None),
        (Wish::Mapped(_), true) => ("mapping-and-list", case.remove("cpu-bind")),
        (_, true) => ("binding-and-list", case.remove("cpu-bind")),
        _ if matches!(both.other, Wish::Near(_)) => ("near-and-others", None),
        _ => ("mapping-and-binding", None),
    };
    let reason = if is_list {
        "the step is refused"
    } else {
        REFUSED
    };
    let found = Refusal::from(both).to_string();
    Some(case.warning(rule, found, reason).or(repair))
}

/// A `--cpu-bind` beside an option that chooses the CPUs, of which one gives way.
pub(super) fn gives_way(case: &Case<'_>) -> Option<Finding> {
    case.command.option("cpu-bind")?;
    let place = case.around.place.as_ref();
    let place = place.or_else(|| case.around.roomy())?;
    let request = planned::request(case, place).ok()?;
    let one = plan::gives_way(&request)?;
    let [level, none] = match one.option {
        "binding" => ["binding-and-level", "binding-and-none"],
        "near" => ["near-and-level", "near-and-none"],
        _ => ["mapping-and-level", "mapping-and-none"],
    };
    let rule = if one.is_overridden { none } else { level };
    let (found, why) = one.note.split_once("; ")?;
    Some(case.hint(rule, found.into(), why))
}

/// The CPUs of a `--cpuset` beside a `--near`. A default gives way to them.
fn near_and_cpuset(case: &Case<'_>, near: &Near) -> Option<Finding> {
    if case.variable_of("near") == Some(Own::Near.variable) {
        return None;
    }
    case.knows(&["cpuset"]).then_some(())?;
    let why = near_beside_cpuset(near, &case.own("cpuset")?)?;
    Some(case.warning("near-and-others", why.to_string(), REFUSED))
}

/// A cpuset that the job can never have.
pub(super) fn cpuset_never_fits(case: &Case<'_>) -> Option<Finding> {
    let request = cpuset_of(case).filter(|_| !is_in_job(case))?;
    let why = submitted(case, |words, env| cpuset::never_fits(&request, words, env))?;
    Some(case.warning("cpuset-never-fits", why, REFUSED))
}

/// CPUs are to be chosen among those that slurmctld chose without a look at the request.
pub(super) fn cpuset_has_little_choice(case: &Case<'_>) -> Option<Finding> {
    let request = cpuset_of(case).filter(|_| !case.is_whole() && !is_in_job(case))?;
    let why = submitted(case, |words, _| cpuset::little_choice(&request, words))?;
    let reason = "the job may have none of the CPUs that it wants";
    Some(case.hint("cpuset-little-choice", why, reason))
}

/// A cpuset of a step whose job has another one.
pub(super) fn cpuset_other_than_job(case: &Case<'_>) -> Option<Finding> {
    cpuset_of(case).filter(|_| is_in_job(case))?;
    let of_job = case.job_option("cpuset").flatten()?;
    let why = cpuset::other_than_job(case.has("cpuset")?, of_job)?;
    let finding = case.warning("cpuset-and-job", why, "srun refuses it");
    Some(finding.or(case.remove("cpuset")))
}

/// Whether it is a step of a job that is there already.
fn is_in_job(case: &Case<'_>) -> bool {
    case.command.kind == Kind::Srun && case.script.job.is_some()
}

/// The cpuset of the line itself, if it is known.
fn cpuset_of(case: &Case<'_>) -> Option<CpusetRequest> {
    case.command.option("cpuset")?;
    let has_components = case.script.has_components || case.command.line.more;
    let is_known = case.knows(&["cpuset"]) && !has_components;
    is_known.then(|| case.own("cpuset")).flatten()
}
