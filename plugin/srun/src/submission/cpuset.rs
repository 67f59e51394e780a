//! The submitting command's part in a `--cpuset`: the number of CPUs on each node where the
//! request has none, the refusal of one that can never fit, and a note where there is little to choose from.
//! In: the request, the command's own words, its environment. Out: a number, a text. Pure.

use berth_placement::CpusetRequest;
use berth_placement::request::cpuset::{Attribute, Dynamic};
use berth_placement::sets::text::counted;

use crate::reading::SrunRequest;
use crate::submission::Words;

/// The number of CPUs on each node that a line asks for: tasks on a node × `-c`. Tasks on a node are
/// `--ntasks-per-node`, else all tasks over the nodes. `None` if the number of nodes is open, and for a line
/// that says nothing of tasks and CPUs: its job has all that it gets.
#[must_use]
pub fn ncpus(requested: &SrunRequest) -> Option<u32> {
    if (
        requested.ntasks,
        requested.ntasks_per_node,
        requested.cpus_per_task,
    ) == (None, None, None)
    {
        return None;
    }
    let nodes = requested.nodes.map(|nodes| (nodes.least, nodes.most));
    on_a_node(
        requested.tasks(),
        requested.ntasks_per_node,
        nodes,
        requested.cpus_per_task,
    )
}

/// The number of CPUs on each node, from the numbers of a line; `nodes` are the least and the most. `None` if the
/// number of nodes is open.
#[must_use]
pub fn on_a_node(
    tasks: u32,
    per_node: Option<u32>,
    nodes: Option<(u32, Option<u32>)>,
    cpus_per_task: Option<u32>,
) -> Option<u32> {
    let here = match (per_node, nodes) {
        (Some(count), _) => count,
        (None, None) => tasks,
        (None, Some((least, most))) if most == Some(least) => tasks.div_ceil(least.max(1)),
        (None, Some(_)) => return None,
    };
    here.max(1).checked_mul(cpus_per_task.unwrap_or(1).max(1))
}

/// The number of CPUs on each node that a command's words ask for.
#[must_use]
pub fn ncpus_of(words: &Words, env: impl Fn(&str) -> Option<String>) -> Option<u32> {
    if words.is_unsure() {
        return None;
    }
    ncpus(&words.request(env)?)
}

/// The reason why a cpuset can never be had, if that is sure.
#[must_use]
pub fn never_fits(
    request: &CpusetRequest,
    words: &Words,
    env: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let CpusetRequest::Dynamic(set) = request else {
        return None;
    };
    if words.is_unsure() {
        return None;
    }
    let requested = words.request(env)?;
    let least = requested.nodes.as_ref().map_or(1, |nodes| nodes.least);
    if set.max_radius.is_some() && least > 1 {
        return Some(format!(
            "--cpuset={set}: MAX_RADIUS means one node, and the line asks for at least {least}; use -N1, \
             or leave MAX_RADIUS out"
        ));
    }
    let listed = set.cpu_list.as_ref()?.cpus().count() as u32;
    if words.is_srun && requested.exact && requested.exclusive.is_some() {
        return Some(format!(
            "--cpuset={set}: with --exclusive srun's own step gets cores of slurmctld's choice, and CPU_LIST may not \
             name them; make the job with salloc: salloc --exclusive --cpuset='{set}' srun …"
        ));
    }
    let needed = set.ncpus.or_else(|| ncpus(&requested))?;
    (listed < needed).then(|| {
        format!(
            "--cpuset={set}: CPU_LIST names {}, and {needed} are needed on each node; list at least as \
             many, or request fewer (NCPUS)",
            counted(listed, "CPU")
        )
    })
}

/// Whether slurmctld has to be asked for one node: `MAX_RADIUS` means one, and the line leaves the number open.
#[must_use]
pub fn needs_one_node(
    request: &CpusetRequest,
    words: &Words,
    env: impl Fn(&str) -> Option<String>,
) -> bool {
    let has_radius = matches!(request, CpusetRequest::Dynamic(set) if set.max_radius.is_some());
    let named = ["nodelist", "nodefile", "ntasks-per-node"];
    let is_open = |requested: SrunRequest| requested.nodes.is_none();
    has_radius
        && !words.is_unsure()
        && !named.iter().any(|option| words.has(option))
        && words.request(env).is_some_and(is_open)
}

/// Whether the cpuset of a job on one node may be a part of the CPUs that the job has there. `counted` is the number that
/// the submitting command has worked out.
#[must_use]
pub fn is_part_of_job(
    request: &CpusetRequest,
    counted: Option<u32>,
    env: impl Fn(&str) -> Option<String>,
) -> bool {
    // It has one number for one node alone.
    let owned: Option<u32> = env("SLURM_JOB_CPUS_PER_NODE").and_then(|text| text.parse().ok());
    let count = request.ncpus().or(counted);
    match (request, owned, count) {
        (CpusetRequest::None, _, _) | (_, None, _) => false,
        (_, Some(owned), Some(count)) => count < owned,
        (_, Some(_), None) => true,
    }
}

/// Whether two texts ask for the same cpuset.
#[must_use]
pub fn is_same(one: &str, other: &str) -> bool {
    let read = |text: &str| text.parse::<CpusetRequest>().ok();
    read(one) == read(other)
}

/// The reason why a step is refused that asks for a cpuset inside a job with another one. A job that wants none
/// (`CPUSET_TYPE=none`) has none.
#[must_use]
pub fn other_than_job(own: &str, of_job: &str) -> Option<String> {
    let has_none = of_job.parse() == Ok(CpusetRequest::None);
    (!has_none && !is_same(own, of_job)).then(|| {
        format!(
            "--cpuset={own}: this job has the cpuset {of_job}, and its steps run inside it; leave --cpuset out, or \
             request another one for the job"
        )
    })
}

/// The note where a request has little to choose from: slurmctld gives a job its cores without a look at
/// the cpuset, and only a job of whole nodes has others.
#[must_use]
pub fn little_choice(request: &CpusetRequest, words: &Words) -> Option<String> {
    let CpusetRequest::Dynamic(set) = request else {
        return None;
    };
    let word = choosing_word(set)?;
    // srun's own --exclusive is about its step too, which then gets cores of slurmctld's choice.
    let way = if words.is_srun {
        "make the job with salloc"
    } else {
        "submit the job with"
    };
    (!words.has("exclusive")).then(|| {
        format!(
            "--cpuset: slurmctld chooses the job's cores without a look at {word}, so there is little to \
             choose from; {way} --exclusive"
        )
    })
}

/// The first word that needs CPUs to choose from.
#[must_use]
fn choosing_word(set: &Dynamic) -> Option<&'static str> {
    let words = [
        (set.cpu_list.is_some(), "CPU_LIST"),
        (set.max_radius.is_some(), "MAX_RADIUS"),
        (set.node_ex == Some(true), "NODE_EX"),
        (set.max_cpu_per_node.is_some(), "MAX_CPU_PER_NODE"),
        (
            set.has(Attribute::MemoryMandatory),
            "CPUSET_MEMORY_MANDATORY",
        ),
    ];
    let found = words.into_iter().find(|(is_there, _)| *is_there);
    found.map(|(_, word)| word)
}
