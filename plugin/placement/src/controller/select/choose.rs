//! Which of the candidates a job gets (`choose_nodes`): one way to choose is tried, then the
//! smallest nodes are left out, one size after another, and it is tried again.
//! In: candidates. Out: the taken nodes. Pure.

use crate::controller::select::best_fit;
use crate::controller::select::candidates::{Candidates, Wanted};
use crate::controller::select::least_loaded;
use crate::controller::select::spread;

/// The nodes that the job gets, by their positions, or `None`.
pub(super) fn choose(candidates: &mut Candidates<'_>, wanted: Wanted) -> Option<Vec<bool>> {
    let tasks = candidates.job.tasks;
    let mut wanted = wanted;
    if tasks > 0 && wanted.most > tasks {
        wanted.most = tasks.max(wanted.least);
    }
    if let Some(taken) = evaluate(candidates, wanted) {
        return Some(taken);
    }
    let mut left = candidates.open_count();
    if left <= wanted.least {
        return evaluate(candidates, wanted);
    }
    let sizes = candidates.offers.iter().flatten().map(|offer| offer.size);
    let largest = sizes.max().unwrap_or(0);
    for size in 1..largest {
        let dropped = drop_small(candidates, size, wanted.least, &mut left);
        if !dropped && size != 1 {
            continue;
        }
        let found = evaluate(candidates, wanted);
        if found.is_some() {
            return found;
        }
        if left <= wanted.least {
            break;
        }
    }
    None
}

/// Leaves out nodes of at most this size, but not those of `-w`; whether there were any.
fn drop_small(candidates: &mut Candidates<'_>, size: u32, least: u32, left: &mut u32) -> bool {
    let mut dropped = false;
    for at in 0..candidates.open.len() {
        let is_small = candidates.offers[at].is_some_and(|offer| (1..=size).contains(&offer.size));
        if !candidates.open[at] || !is_small || candidates.job.wanted.contains(&at) {
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
    if candidates.job.spread {
        spread::evaluate(candidates, wanted)
    } else if cluster.select.least_loaded || cluster.partition.least_loaded {
        least_loaded::evaluate(candidates, wanted)
    } else {
        best_fit::evaluate(candidates, wanted)
    }
}
