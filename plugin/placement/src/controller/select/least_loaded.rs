//! Nodes under `CR_LLN` or a partition's `LLN=yes` (`_eval_nodes_lln`): the highest share of free CPUs first,
//! within each weight.
//! In: candidates. Out: the taken nodes. Pure.

use crate::controller::select::candidates::{Candidates, Due, Wanted};
use crate::controller::select::cluster::SlurmLine;
use crate::controller::select::spread::{by_weight, take_wanted};

pub(super) fn evaluate(from: &mut Candidates<'_>, wanted: Wanted) -> Option<Vec<bool>> {
    let (mut taken, mut due) = take_wanted(from, wanted)?;
    if due.is_served() && !from.job.wanted.is_empty() {
        return Some(taken);
    }
    for (_, mut nodes) in by_weight(from, &taken) {
        let mut last_free = None;
        while due.most_nodes > 0
            && let Some((place, cpus)) = least_loaded(from, &nodes, &due, last_free)
        {
            let at = nodes.remove(place);
            let cpus = match is_cut_late(from) {
                true if cpus > 0 => from.taken(at, cpus, &due),
                _ => cpus,
            };
            if cpus == 0 {
                continue;
            }
            last_free = from.offers[at].map(|offer| offer.free);
            taken[at] = true;
            due.take(cpus);
            if due.is_served() {
                return Some(taken);
            }
        }
    }
    (due.cpus <= 0 && due.least_nodes <= 0).then_some(taken)
}

/// Since 26.05 only the node that is taken is cut to what is due.
fn is_cut_late(from: &Candidates<'_>) -> bool {
    from.cluster.line == SlurmLine::V26_05
}

/// The place of the least loaded of these nodes, with its CPUs. The search ends at a node that has as many
/// free CPUs as the one before had. 26.05 counts the CPUs of the node that it looked at last.
fn least_loaded(
    from: &mut Candidates<'_>,
    nodes: &[usize],
    due: &Due,
    last_free: Option<u32>,
) -> Option<(usize, u32)> {
    let share = |from: &Candidates<'_>, at: usize| {
        let free = from.offers[at].map_or(0, |offer| offer.free);
        (u64::from(free), u64::from(from.cluster.nodes[at].cpus))
    };
    let mut best: Option<(usize, u32)> = None;
    let mut last = 0;
    for (place, &at) in nodes.iter().enumerate() {
        let mut cpus = from.usable(at);
        if !is_cut_late(from) {
            cpus = from.taken(at, cpus, due);
        }
        // A node that offers nothing is passed over before its CPUs are looked at.
        if from.open[at] {
            last = cpus;
        }
        if cpus == 0 {
            continue;
        }
        let (free, all) = share(from, at);
        let is_better = best.is_none_or(|(other, _)| {
            let (best_free, best_all) = share(from, nodes[other]);
            best_free * all < free * best_all
        });
        if is_better {
            best = Some((place, cpus));
            if last_free == Some(free as u32) {
                break;
            }
        }
    }
    match is_cut_late(from) {
        true => best.map(|(place, _)| (place, last)),
        false => best,
    }
}
