//! The node of a job that can have only one, since 26.05 (`_get_one_res`, `common_test_node`): the first
//! that fits, by weight, then in slurm.conf's order.
//! In: candidates. Out: the node. Pure.

use crate::controller::select::candidates::{Candidates, Due, Wanted};

pub(super) fn choose(from: &mut Candidates<'_>) -> Option<usize> {
    let one = Wanted {
        least: 1,
        most: 1,
        best: 1,
    };
    let wanted = &from.job.wanted;
    let mut all: Vec<usize> = (0..from.open.len())
        .filter(|at| from.open[*at] && (wanted.is_empty() || wanted.binary_search(at).is_ok()))
        .collect();
    all.sort_by_key(|at| from.cluster.nodes[*at].weight);
    let due = Due::new(from.job, one);
    all.into_iter().find(|&at| {
        let cpus = from.usable(at);
        let cpus = from.taken(at, cpus, &due);
        cpus > 0 && cpus >= from.job.min_cpus
    })
}
