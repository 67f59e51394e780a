//! Which of the candidates a job gets (`choose_nodes`): one way to choose is tried, then the
//! smallest nodes are left out, one size after another, and it is tried again.
//! In: candidates. Out: the taken nodes. Pure.

use crate::controller::select::best_fit;
use crate::controller::select::candidates::{Candidates, Wanted};
use crate::controller::select::cluster::SlurmLine;
use crate::controller::select::least_loaded;
use crate::controller::select::{spread, spread_evenly};

/// The nodes that the job gets, by their positions, or `None`.
pub(super) fn choose(candidates: &mut Candidates<'_>, wanted: Wanted) -> Option<Vec<bool>> {
    let tasks = candidates.job.tasks;
    let line = candidates.cluster.line;
    let limits = line == SlurmLine::V22_05 || candidates.job.per_node.is_none();
    let mut first = wanted;
    if limits && tasks > 0 && wanted.most > tasks {
        first.most = tasks.max(wanted.least);
    }
    if let Some(taken) = evaluate(candidates, first) {
        return Some(taken);
    }
    // Later lines forget now that the tasks limit the nodes.
    match line {
        SlurmLine::V22_05 => drop_by_size(candidates, first),
        SlurmLine::V24_11 => drop_by_size(candidates, wanted),
        SlurmLine::V26_05 => drop_one_by_one(candidates, wanted),
    }
}

/// Drops all nodes of one size after another, and tries again.
fn drop_by_size(candidates: &mut Candidates<'_>, wanted: Wanted) -> Option<Vec<bool>> {
    let mut left = candidates.open_count();
    if left <= wanted.least {
        return evaluate(candidates, wanted);
    }
    let sizes = candidates.offers.iter().flatten().map(|offer| offer.size);
    let largest = sizes.max().unwrap_or(0);
    let mut size = 1;
    while size < largest {
        let dropped = drop_small(candidates, size, wanted.least, &mut left);
        if dropped || size == 1 {
            let found = evaluate(candidates, wanted);
            if found.is_some() {
                return found;
            }
            if left <= wanted.least {
                break;
            }
        }
        // Since 24.11 the same size is looked at again, for the sizes change while it is tried.
        if !dropped || candidates.cluster.line == SlurmLine::V22_05 {
            size += 1;
        }
    }
    None
}

/// Drops one node after another, the smallest first, and tries again.
fn drop_one_by_one(candidates: &mut Candidates<'_>, wanted: Wanted) -> Option<Vec<bool>> {
    let mut small: Vec<usize> = (0..candidates.open.len())
        .filter(|at| candidates.open[*at] && candidates.job.wanted.binary_search(at).is_err())
        .collect();
    small.sort_by_key(|at| candidates.offers[*at].map_or(0, |offer| offer.size));
    small.pop();
    let found = evaluate(candidates, wanted);
    if found.is_some() {
        return found;
    }
    for at in small {
        if candidates.open_count() <= wanted.least {
            break;
        }
        candidates.open[at] = false;
        let found = evaluate(candidates, wanted);
        if found.is_some() {
            return found;
        }
    }
    None
}

/// Leaves out nodes of at most this size, but not those of `-w`; whether there were any.
fn drop_small(candidates: &mut Candidates<'_>, size: u32, least: u32, left: &mut u32) -> bool {
    let mut dropped = false;
    for at in 0..candidates.open.len() {
        let is_small = candidates.offers[at].is_some_and(|offer| (1..=size).contains(&offer.size));
        if !candidates.open[at] || !is_small || candidates.job.wanted.binary_search(&at).is_ok() {
            continue;
        }
        dropped = true;
        candidates.open[at] = false;
        *left -= 1;
        if *left <= least {
            break;
        }
    }
    dropped
}

fn evaluate(candidates: &mut Candidates<'_>, wanted: Wanted) -> Option<Vec<bool>> {
    if candidates.open_count() < wanted.least || !candidates.has_wanted() {
        return None;
    }
    let cluster = candidates.cluster;
    if candidates.job.spread && cluster.line == SlurmLine::V26_05 {
        spread_evenly::evaluate(candidates, wanted)
    } else if candidates.job.spread {
        spread::evaluate(candidates, wanted)
    } else if cluster.select.least_loaded || cluster.partition.least_loaded {
        least_loaded::evaluate(candidates, wanted)
    } else {
        best_fit::evaluate(candidates, wanted)
    }
}
