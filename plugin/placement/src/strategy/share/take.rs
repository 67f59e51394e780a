//! `-c N` beside `--binding=auto`: how much of its share each task takes.
//! In: the free cores, each task's share, N. Out: each task's cores as a run, or the share that is
//! too small. Pure.

use std::ops::Range;

use crate::strategy::share::free::Free;

/// Why a share cannot be served.
pub(super) enum Obstacle {
    /// Others have taken all of the step's cores.
    NothingFree,
    /// `-c` is larger than a task's share.
    TooSmall {
        /// CPUs of the smallest share.
        smallest: usize,
        /// Free cores.
        cores: usize,
        /// Their CPUs.
        threads: usize,
    },
}

/// The smallest share has fewer CPUs than `-c`.
pub(super) fn too_small(free: &Free, smallest: usize) -> Obstacle {
    Obstacle::TooSmall {
        smallest,
        cores: free.core_count(),
        threads: free.thread_count(),
    }
}

/// N CPUs' worth of cores from the beginning of each share; the rest stays idle. With `each` of 1 the
/// whole share, because Slurm does not tell a `-c 1` from none.
pub(super) fn from_beginning(
    free: &Free,
    mut shares: Vec<Range<usize>>,
    each: usize,
) -> Result<Vec<Range<usize>>, Obstacle> {
    if each <= 1 {
        return Ok(shares);
    }
    let smallest = shares.iter().map(|share| cpus(free, share)).min();
    let smallest = smallest.unwrap_or(0);
    if smallest < each {
        return Err(too_small(free, smallest));
    }
    for share in &mut shares {
        share.end = end_of(free, share.clone(), each).unwrap_or(share.end);
    }
    Ok(shares)
}

/// N CPUs' worth of cores for each task, one task after the other. A task that would not fit into
/// what is left of an object begins with the next object, where all tasks have room so; the narrowest
/// layer for which they do counts.
pub(super) fn packed(
    free: &Free,
    tasks: usize,
    each: usize,
) -> Result<Vec<Range<usize>>, Obstacle> {
    let narrow_first = (0..free.layer_count()).rev().map(Some);
    let mut layers = narrow_first.chain([None]);
    let found = layers.find_map(|layer| packed_within(free, (tasks, each), layer));
    // Even shares are no larger than such runs, so the smallest of them says what is missing.
    let smallest = || {
        let shares = free.row_of_cores().split(tasks);
        shares.iter().map(|share| cpus(free, share)).min()
    };
    found.ok_or_else(|| too_small(free, smallest().unwrap_or(0)))
}

fn cpus(free: &Free, share: &Range<usize>) -> usize {
    share.clone().map(|core| free.threads_of(core)).sum()
}

fn packed_within(
    free: &Free,
    (tasks, each): (usize, usize),
    layer: Option<usize>,
) -> Option<Vec<Range<usize>>> {
    let last = free.core_count();
    let object_end = |from: usize| match layer {
        None => last,
        Some(layer) => {
            let mut after = from + 1..last;
            after.find(|core| free.begins(*core, layer)).unwrap_or(last)
        }
    };
    let mut runs = Vec::with_capacity(tasks);
    let (mut at, mut end) = (0, object_end(0));
    while runs.len() < tasks {
        if at >= last {
            return None;
        }
        match end_of(free, at..end, each) {
            Some(run_end) => {
                runs.push(at..run_end);
                at = run_end;
            }
            None => at = end,
        }
        if at >= end {
            end = object_end(at);
        }
    }
    Some(runs)
}

/// Where a run of cores with so many CPUs ends; none if there are fewer.
fn end_of(free: &Free, within: Range<usize>, each: usize) -> Option<usize> {
    let mut cpus = 0;
    for core in within {
        cpus += free.threads_of(core);
        if cpus >= each {
            return Some(core + 1);
        }
    }
    None
}
