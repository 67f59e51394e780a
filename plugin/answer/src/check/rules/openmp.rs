//! OpenMP's threads beside the CPUs of each task.

use berth_placement::request::grid_engine::Instance;
use berth_placement::{Binding, Mode};

use crate::check::case::Case;
use crate::check::finding::{Finding, Repair, replaced};

/// Variables with which a user places threads.
const PLACES: &[&str] = &[
    "OMP_PLACES",
    "OMP_PROC_BIND",
    "GOMP_CPU_AFFINITY",
    "KMP_AFFINITY",
];

/// Options that count a task's CPUs in place of `-c`, which Slurm refuses beside them.
const OTHER_COUNTS: [&str; 2] = ["cpus-per-gpu", "tres-per-task"];

/// The number of threads. The outer `None` means that no variable gives it, the inner one that its value
/// is no plain number.
pub(in crate::check) fn threads(case: &Case<'_>) -> Option<Option<u32>> {
    let set = case.command.variables.get("OMP_NUM_THREADS")?;
    let number = |value: String| value.split(',').next()?.parse().ok();
    Some(case.job_variables.value_of(set).and_then(number))
}

pub(super) fn without_places(case: &Case<'_>) -> Option<Finding> {
    let threads = threads(case)?;
    let is_set = |name: &&str| case.command.variables.contains_key(*name);
    let binding: Option<Binding> = case.own("binding");
    let is_placed = PLACES.iter().any(is_set)
        || binding.is_some_and(|binding| binding.instance == Instance::Env);
    (threads.is_none_or(|threads| threads > 1) && !is_placed).then(|| {
        case.hint(
            "openmp-places",
            "OMP_NUM_THREADS without OMP_PLACES and OMP_PROC_BIND".into(),
            "the task's threads may move between its CPUs, and two of them may share a core; \
             OMP_PROC_BIND=close keeps each at its place: on a core with OMP_PLACES=cores, or with more threads \
             than cores OMP_PLACES=threads",
        )
    })
}

pub(super) fn more_threads_than_cpus(case: &Case<'_>) -> Option<Finding> {
    let threads = threads(case)??;
    let is_given = case.has_one_of(&["cpus-per-task"]);
    let by_devices = case.has_one_of(&OTHER_COUNTS);
    let cpus = match fewest_in_a_mask(case) {
        Some(listed) => listed,
        None if case.is_list() || by_devices => return None,
        None if is_level_of_whole_node(case) => return None,
        None => case.cpus_per_task()?,
    };
    (threads > cpus && !is_unsure(case)).then(|| {
        let finding = case.warning(
            "openmp-threads",
            match case.is_list() {
                true => format!("OMP_NUM_THREADS={threads} with {cpus} CPUs in a mask"),
                false => format!("OMP_NUM_THREADS={threads} with -c {cpus}"),
            },
            match is_given || case.is_list() {
                true => "each task has fewer CPUs than threads",
                false => {
                    "without -c each task has one CPU, unless jobs get whole nodes there (then \
                          give --site exclusive)"
                }
            },
        );
        match case.is_list() {
            true => finding,
            false => finding
                .or(more_cpus(case, threads))
                .or(fewer_threads(case, cpus)),
        }
    })
}

/// On a whole node, tasks without `-c` have what the level gives, which only a plan knows.
fn is_level_of_whole_node(case: &Case<'_>) -> bool {
    let is_counted = case.has_one_of(&["cpus-per-task"]) || case.has_one_of(&OTHER_COUNTS);
    case.is_whole() && !case.is_list() && !is_counted
}

/// Whether other options may give a task more CPUs than its `-c`.
fn is_unsure(case: &Case<'_>) -> bool {
    let others = ["mincpus", "gpus-per-task", "overcommit"];
    let is_whole_step = case.request.as_ref().is_ok_and(|requested| requested.whole);
    let mut others = others.iter();
    others.any(|name| case.is_set(name)) || is_whole_step || !case.knows(&["cpu-bind"])
}

/// The number of threads, where the level of a whole node decides how many CPUs each task has.
pub(in crate::check) fn threads_of_level(case: &Case<'_>) -> Option<u32> {
    let threads = threads(case)??;
    (threads > 1 && is_level_of_whole_node(case) && !is_unsure(case)).then_some(threads)
}

/// `-c` where it stands: on the step, else on the job, which must have the CPUs first. Where only the job knows the number
/// of tasks, the step may have no room for more.
pub(in crate::check) fn more_cpus(case: &Case<'_>, threads: u32) -> Option<Repair> {
    case.tasks()?;
    let option = [format!("-c{threads}")];
    let of_step = case.set(&option)?;
    let Some(job) = &case.script.job else {
        return Some(of_step);
    };
    Some([job.set(&case.script.text, &option)?, of_step].concat())
}

/// The repair that gives the task as many threads as CPUs, where the script gives their number: for a step that runs
/// beside others.
fn fewer_threads(case: &Case<'_>, cpus: u32) -> Option<Repair> {
    case.command.in_background.then_some(())?;
    let set = case.command.variables.get("OMP_NUM_THREADS")?;
    let range = set.end?.checked_sub(set.value.len())?..set.end?;
    let is_it = case.script.text.get(range.clone())? == set.value.as_bytes();
    is_it.then(|| replaced(range, cpus.to_string()))
}

/// The CPUs in the smallest mask of a list.
fn fewest_in_a_mask(case: &Case<'_>) -> Option<u32> {
    let requested = case.request.as_ref().ok()?;
    let Some(Mode::MaskCpu(masks)) = &requested.cpu_bind.mode else {
        return None;
    };
    masks.iter().map(|mask| mask.count() as u32).min()
}
