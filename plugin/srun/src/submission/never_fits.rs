//! Finds a `--binding` or a mapping that can never fit in the submitting command, such as
//! `-n N --binding=linear:N` from users who want one process with N threads.
//! In: the request, the command's own words, its environment. Out: a text, if that is sure.

use berth_placement::request::grid_engine::{Scope, Strategy};
use berth_placement::sets::text::counted;
use berth_placement::{Binding, Mapping};

use crate::node_lists::each_node;
use crate::submission::Words;

/// The reason why the binding can never fit, with the line to use instead.
#[must_use]
pub fn why(
    binding: &Binding,
    words: &Words,
    env: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let (amount, shared) = match &binding.strategy {
        Strategy::None | Strategy::Auto(_) => return None,
        Strategy::Linear { amount, .. } | Strategy::Striding { amount, .. } => {
            (*amount, binding.scope == Scope::Host)
        }
        Strategy::Explicit(places) => (places.len() as u32, true),
    };
    let Known { tasks, limit } = Known::of(words, &env)?;
    let takers = if shared { 1 } else { tasks };
    let cores = counted(amount, "core");
    let requested = match takers {
        1 => cores,
        _ => format!("{tasks} tasks × {cores}"),
    };
    let needed = u64::from(takers) * u64::from(amount);
    let each = match limit {
        Limit::Allocation(cpus) => {
            return (needed > cpus).then(|| {
                format!(
                    "--binding={binding} asks for {requested}; this allocation has {}: ask for fewer, or for a \
                     larger allocation",
                    counted(cpus, "CPU")
                )
            });
        }
        Limit::Job(each) => each,
    };
    (needed > u64::from(tasks) * u64::from(each)).then(|| {
        let instead = match shared {
            true => format!("-n{tasks} -c{}", amount.div_ceil(tasks.max(1))),
            false if tasks > 1 => {
                format!(
                    "-n1 -c{amount} for one process with {amount} threads, or -n{tasks} -c{amount}"
                )
            }
            false => format!("-n1 -c{amount}"),
        };
        format!(
            "--binding={binding} asks for {requested}; this job asks for {tasks} × {} and can never have \
             them; use {instead}; in a job of whole nodes (sbatch --exclusive) it may fit",
            counted(each, "CPU")
        )
    })
}

/// The reason why a mapping with `pe=N` can never fit: each CPU that it counts is a core, and
/// Slurm counts at least one CPU for each.
#[must_use]
pub fn mapping(
    mapping: &Mapping,
    words: &Words,
    env: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let each = mapping.each().filter(|each| *each > 1)?;
    let overload = mapping.bind.as_ref().is_some_and(|bind| bind.overload);
    // A job may get more hardware threads than it asks for: Slurm gives whole cores.
    if overload || mapping.takes_threads() {
        return None;
    }
    let Known { tasks, limit } = Known::of(words, &env)?;
    let wanted = u64::from(tasks) * u64::from(each);
    let (all, cpus) = (counted(tasks, "task"), counted(each, "CPU"));
    let requested = format!("{mapping} asks for {all} × {cpus}");
    match limit {
        Limit::Allocation(cpus) => (wanted > cpus).then(|| {
            let fewer = match cpus / u64::from(each) {
                0 => String::new(),
                fits => format!("at most -n{fits}, "),
            };
            format!(
                "{requested}; this allocation has {}: use {fewer}a smaller pe=, or a larger allocation",
                counted(cpus, "CPU")
            )
        }),
        Limit::Job(own) => (wanted > u64::from(tasks) * u64::from(own)).then(|| {
            format!(
                "{requested}; this job asks for {tasks} × {own} CPUs and can never have them; use -n{tasks} \
                 -c{each}; in a job of whole nodes (sbatch --exclusive) it may fit"
            )
        }),
    }
}

/// The most that the tasks of a step can have.
enum Limit {
    /// The CPUs of the allocation in which srun starts them.
    Allocation(u64),
    /// The most CPUs of each task, in a job of their own.
    Job(u32),
}

/// The sure facts about a command's tasks.
struct Known {
    tasks: u32,
    limit: Limit,
}

impl Known {
    fn of(words: &Words, env: &impl Fn(&str) -> Option<String>) -> Option<Self> {
        // Components have allocations of their own.
        if words.is_unsure() || env("SLURM_HET_SIZE").is_some() || words.is_unbound(env) {
            return None;
        }
        let tasks = words.tasks(env)?;
        let around = env("SLURM_JOB_CPUS_PER_NODE").filter(|_| words.is_srun);
        let limit = match around {
            Some(cpus) => {
                let inherited = env("SLURM_JOB_ID").is_some() && !words.has("jobid");
                Limit::Allocation(each_node(&cpus).filter(|_| inherited)?.sum())
            }
            None => Limit::Job(words.most_cpus_per_task(env)?),
        };
        Some(Self { tasks, limit })
    }
}
