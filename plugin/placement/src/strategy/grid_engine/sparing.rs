//! A `--binding` avoids cores of pools if it can; a pool job's also avoids cores of bindings.
//! In: the host's cores. Out: positions for each task (`host:`: for all), on cores with fewest others. Pure.

use std::cmp::Reverse;

use crate::strategy::grid_engine::cores::{Cores, Obstacle};

/// Each taker's positions.
type Positions = Vec<Vec<usize>>;

/// A strategy's choice on unused cores and as few used ones as possible. If that saves no used core, the strategy's
/// own choice is kept.
///
/// # Errors
/// Why it finds none among all.
pub fn choose(
    cores: &Cores,
    strategy: impl Fn(&Cores) -> Result<Positions, Obstacle>,
) -> Result<Positions, Obstacle> {
    let by_itself = strategy(cores)?;
    if price(cores, &by_itself) == (0, 0) {
        return Ok(by_itself);
    }
    let used = used(cores);
    let beside = |open: usize| strategy(&cores.without(used.get(open..).unwrap_or_default()));
    // Most steps need no used core, so that is tried first; then a binary search.
    let (mut few, mut enough, mut open) = (0, used.len(), 0);
    let mut found = by_itself.clone();
    while few < enough {
        match beside(open) {
            Ok(positions) => (found, enough) = (positions, open),
            Err(_) => few = open + 1,
        }
        open = few.midpoint(enough);
    }
    let found = without_unneeded(cores, (&used, enough), found, strategy);
    let is_cheaper = price(cores, &found) < price(cores, &by_itself);
    Ok(if is_cheaper { found } else { by_itself })
}

/// The most cores that are closed again one by one.
const TRIES: usize = 64;

/// Closes used cores again that are not needed, for example by `striding`. If all open cores are taken, all are needed.
fn without_unneeded(
    cores: &Cores,
    (used, open): (&[usize], usize),
    mut found: Positions,
    strategy: impl Fn(&Cores) -> Result<Positions, Obstacle>,
) -> Positions {
    let (open, closed) = used.split_at(open.min(used.len()));
    let wanted: usize = found.iter().map(Vec::len).sum();
    let unclaimed = cores.free_count() - used.len();
    if wanted >= unclaimed + open.len() {
        return found;
    }
    let mut closed = closed.to_vec();
    for at in open.iter().rev().take(TRIES) {
        closed.push(*at);
        match strategy(&cores.without(&closed)) {
            Ok(positions) => found = positions,
            Err(_) => drop(closed.pop()),
        }
    }
    found
}

/// The number of pool jobs and the number of bindings on the cores that were found, each counted once on each of its
/// cores.
fn price(cores: &Cores, found: &[Vec<usize>]) -> (usize, usize) {
    let others = found.iter().flatten().filter_map(|at| cores.at(*at));
    others.fold((0, 0), |(pools, bindings), core| {
        (pools + core.others.pools, bindings + core.others.bindings)
    })
}

/// Used positions, the best first: fewest pool jobs, then fewest bindings, then most unused cores on the socket.
fn used(cores: &Cores) -> Vec<usize> {
    let unclaimed = |socket: u32| {
        let of_socket = cores.free_of(socket as usize).into_iter();
        let unused = of_socket.filter(|at| cores.at(*at).is_some_and(|core| !core.others.any()));
        unused.count()
    };
    let sockets: Vec<_> = (0..cores.socket_count() as u32).map(unclaimed).collect();
    let key = |at: &usize| {
        let core = cores.at(*at)?;
        let unclaimed = sockets.get(core.place.socket as usize);
        Some((core.others, Reverse(*unclaimed?)))
    };
    let is_used =
        |at: &usize| cores.is_free(*at) && cores.at(*at).is_some_and(|core| core.others.any());
    let mut used: Vec<usize> = (0..cores.len()).filter(is_used).collect();
    used.sort_by_key(key);
    used
}
