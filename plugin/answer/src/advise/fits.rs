//! A request that cannot be served: the reason, and what would fit, which was planned.

use berth_placement::Node;
use berth_placement::sets::count::counted;

use super::tried::Request;
use crate::lines::NoAnswer;
use crate::plan::{Added, PlannedStep};

/// The most tasks, and the most nodes, of a step that is planned so many times.
const MOST_TASKS: u32 = 20_000;
/// The most tasks of a node.
const MOST_ON_A_NODE: u32 = 4096;
/// The most CPUs that all tasks of a node may have together.
const MOST_CPUS: u32 = 1 << 20;

/// Whether a request is small enough to be planned many times.
///
/// # Errors
/// What to do if not.
pub(super) fn is_bounded(asked: &Request<'_>) -> Result<(), NoAnswer> {
    let srun = &asked.bare.srun;
    let tasks = srun.tasks();
    let nodes = srun
        .nodes
        .map_or(1, |nodes| nodes.most.unwrap_or(nodes.least));
    let named = srun.nodelist.is_some() || asked.typed.cluster.is_some();
    let each = tasks.div_ceil(nodes.max(1));
    let most = most_on(asked.on);
    let is_too_many = each > most && !named || tasks > MOST_TASKS || nodes > MOST_TASKS;
    match is_too_many {
        true => Err(too_many(tasks, nodes, most)),
        false => Ok(()),
    }
}

/// The same for the nodes that a step has.
///
/// # Errors
/// What to do if not.
pub(super) fn is_bounded_on_each(on: &Node, step: &PlannedStep) -> Result<(), NoAnswer> {
    let each = step.across.counts().iter().max().copied().unwrap_or(0);
    let most = most_on(on);
    match each > most {
        true => Err(too_many(step.tasks, step.node_count(), most)),
        false => Ok(()),
    }
}

/// The most tasks of a node: each figure looks at every CPU of each.
fn most_on(on: &Node) -> u32 {
    let cpus = on.shape().map.len().max(1) as u32;
    (MOST_CPUS / cpus).clamp(1, MOST_ON_A_NODE)
}

fn too_many(tasks: u32, nodes: u32, most: u32) -> NoAnswer {
    let each = tasks.div_ceil(nodes.max(1)).min(most);
    NoAnswer::Refused(format!(
        "{} on {} are requested; berth advise compares plans of at most {most} \
         tasks on such a node, {MOST_TASKS} tasks and {MOST_TASKS} nodes; ask for one node's share, as \
         in -N 1 -n {each}",
        counted(tasks, "task"),
        counted(nodes, "node")
    ))
}

/// The reason, and what would fit.
pub(super) fn refused(asked: &Request<'_>, why: Option<NoAnswer>) -> NoAnswer {
    let why = match why {
        Some(NoAnswer::Refused(why)) => why,
        Some(other) => return other,
        None => "no line that was tried gives the tasks what they ask for".into(),
    };
    let srun = &asked.bare.srun;
    let tasks = most(srun.tasks(), |tasks| runs(asked, "ntasks", tasks));
    let each = srun.cpus_per_task;
    let each = each.and_then(|each| most(each, |each| runs(asked, "cpus-per-task", each)));
    let beside = srun
        .cpus_per_task
        .map_or(String::new(), |each| format!(" -c {each}"));
    let fits = [
        tasks.map(|tasks| format!("-n {tasks}{beside}")),
        each.map(|each| format!("-n {} -c {each}", srun.tasks())),
    ];
    let fits: Vec<_> = fits.into_iter().flatten().collect();
    NoAnswer::Refused(match fits.is_empty() {
        true => why,
        false => format!("{why}; this would fit: {}", fits.join(", or ")),
    })
}

/// Whether an even share gives each task what it asks for.
fn runs(asked: &Request<'_>, option: &'static str, value: u32) -> bool {
    let number: Added = (option, Some(value.to_string()));
    let share: Added = ("binding", Some("auto".into()));
    asked
        .tried(&[number, share])
        .is_ok_and(|one| one.is_bound())
}

/// The largest number below one that does not fit, if numbers up to some size do.
fn most(not: u32, mut fits: impl FnMut(u32) -> bool) -> Option<u32> {
    let (mut least, mut most) = (0, not);
    while least + 1 < most {
        let middle = least + (most - least) / 2;
        match fits(middle) {
            true => least = middle,
            false => most = middle,
        }
    }
    (least > 0).then_some(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_that_fits() {
        for (not, limit, found) in [
            (9, 8, Some(8)),
            (100, 8, Some(8)),
            (u32::MAX, 1, Some(1)),
            (2, 0, None),
            (1, 0, None),
            (0, 0, None),
        ] {
            assert_eq!(most(not, |number| number <= limit), found, "{not} {limit}");
        }
    }
}
