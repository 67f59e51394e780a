//! Nodes for `--spread-job` (`_eval_nodes_spread`): as many as allowed, by weight, then in order.
//! In: candidates. Out: the taken nodes. Pure.

use crate::controller::select::candidates::{Candidates, Due, Wanted};

pub(super) fn evaluate(from: &mut Candidates<'_>, wanted: Wanted) -> Option<Vec<bool>> {
    let (mut taken, mut due) = take_wanted(from, wanted)?;
    if due.is_served() && !from.job.wanted.is_empty() {
        return Some(taken);
    }
    for (_, nodes) in by_weight(from, &taken) {
        for at in nodes {
            if due.most_nodes <= 0 {
                break;
            }
            let cpus = from.usable(at);
            let cpus = from.taken(at, cpus, &due);
            if cpus == 0 {
                continue;
            }
            taken[at] = true;
            due.take(cpus);
            if due.is_served() {
                return Some(taken);
            }
        }
    }
    (due.cpus <= 0 && due.least_nodes <= 0).then_some(taken)
}

/// Takes the nodes of `-w`.
pub(super) fn take_wanted(from: &mut Candidates<'_>, wanted: Wanted) -> Option<(Vec<bool>, Due)> {
    let mut due = Due::new(from.job, wanted);
    if from.job.tasks > 0 {
        due.most_nodes = due.most_nodes.min(from.job.tasks.into());
    }
    let mut taken = vec![false; from.open.len()];
    for &at in &from.job.wanted {
        if due.most_nodes <= 0 {
            return None;
        }
        let cpus = from.usable(at);
        let cpus = from.taken(at, cpus, &due);
        if cpus == 0 {
            return None;
        }
        taken[at] = true;
        due.take(cpus);
    }
    let can_go_on = from.job.wanted.is_empty() || due.is_served() || due.most_nodes > 0;
    can_go_on.then_some((taken, due))
}

/// The nodes that may still be taken, the lowest weight first (`_build_node_weight_list`).
pub(super) fn by_weight(from: &Candidates<'_>, taken: &[bool]) -> Vec<(u32, Vec<usize>)> {
    let mut left: Vec<usize> = (0..taken.len())
        .filter(|at| from.open[*at] && !taken[*at])
        .collect();
    let weight = |at: &usize| from.cluster.nodes[*at].weight;
    left.sort_by_key(weight);
    let groups = left.chunk_by(|one, other| weight(one) == weight(other));
    groups
        .map(|group| (weight(&group[0]), group.to_vec()))
        .collect()
}
