//! Which nodes a job gets: all are taken to be idle, and those that can hold it are taken by weight, then in
//! slurm.conf's order. slurmctld may choose others, so the answer says where there was a choice.
//! In: candidates. Out: the taken nodes. Pure.

use std::cmp::Reverse;

use crate::controller::select::candidates::{Candidates, Due, NodeCounts};

/// The nodes of a job.
pub(super) struct Chosen {
    /// Positions, each with the CPUs that the job takes there.
    pub nodes: Vec<(usize, u32)>,
    /// Whether other nodes could hold it as well.
    pub is_assumed: bool,
}

/// The nodes, in slurm.conf's order, or `None`.
pub(super) fn choose(from: &Candidates<'_>, node_counts: NodeCounts) -> Option<Chosen> {
    let job = from.job;
    let most = match job.tasks {
        0 => node_counts.most,
        tasks => node_counts.most.min(tasks.max(node_counts.least)),
    };
    let node_counts = NodeCounts {
        most,
        ..node_counts
    };
    let is_named = |at: &usize| job.wanted.binary_search(at).is_ok();
    let all = 0..from.offers.len();
    let others: Vec<usize> = all
        .filter(|at| from.usable(*at) > 0 && !is_named(at))
        .collect();
    let are_neighbours = |one: &usize, next: &usize| !job.contiguous || one + 1 == *next;
    let mut runs: Vec<&[usize]> = others.chunk_by(are_neighbours).collect();
    if runs.is_empty() {
        runs.push(&[]);
    }
    let mut nodes = runs
        .into_iter()
        .find_map(|run| among(from, node_counts, run.to_vec()))?;
    nodes.sort_unstable();
    let open = nodes.len() - job.wanted.len();
    Some(Chosen {
        is_assumed: open > 0 && open < others.len(),
        nodes,
    })
}

/// Nodes of these: the lightest, or the largest where those do not hold the job.
fn among(
    from: &Candidates<'_>,
    node_counts: NodeCounts,
    mut nodes: Vec<usize>,
) -> Option<Vec<(usize, u32)>> {
    nodes.sort_by_key(|at| from.weight(*at));
    in_order(from, node_counts, &nodes).or_else(|| {
        nodes.sort_by_key(|at| Reverse(from.usable(*at)));
        in_order(from, node_counts, &nodes)
    })
}

/// Takes the nodes of `-w`, and then the others as they stand until nothing is due. Among nodes of one weight, the
/// first that holds all that is due goes before several.
fn in_order(
    from: &Candidates<'_>,
    node_counts: NodeCounts,
    others: &[usize],
) -> Option<Vec<(usize, u32)>> {
    let mut due = Due::new(from.job, node_counts);
    let mut taken = Vec::new();
    for &at in &from.job.wanted {
        if due.most_nodes <= 0 || from.usable(at) == 0 {
            return None;
        }
        taken.push((at, from.take(at, &mut due)));
    }
    for group in others.chunk_by(|one, other| from.weight(*one) == from.weight(*other)) {
        let holds_all = |at: &usize| i64::from(from.usable(*at)) >= due.cpus;
        let single = group.iter().copied().find(holds_all);
        let single = single.filter(|_| due.nodes <= 1);
        for &at in group {
            if due.most_nodes <= 0 || due.is_served() {
                break;
            }
            let is_short = due.most_nodes == 1 && i64::from(from.usable(at)) < due.cpus;
            if !is_short && single.is_none_or(|single| single == at) {
                taken.push((at, from.take(at, &mut due)));
            }
        }
    }
    (due.cpus <= 0 && due.least_nodes <= 0).then_some(taken)
}
