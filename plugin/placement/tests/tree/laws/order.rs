//! Block fills cores and sockets one after the other; cyclic gives the next task the next socket.

use berth_placement::CpuSet;

use super::super::asking::plain;
use super::super::door::{Ask, Level};
use super::super::facts::Tree;
use super::super::harness::{Case, Law, Verdict};
use super::super::random::Random;

pub const WALKED: Law = Law {
    name: "tasks of one CPU take threads and cores in slurmd's order",
    request: single,
    holds: walked,
};

fn single(random: &mut Random, tree: &Tree) -> Ask {
    let request = plain(random, tree, &[Some(Level::Threads), Some(Level::Cores)]);
    let distribution = random.pick(&[
        "block:block",
        "block:cyclic",
        "block:fcyclic",
        "cyclic:block",
    ]);
    Ask {
        cpus_per_task: 1,
        distribution,
        ..request
    }
}

fn walked(case: &Case) -> Verdict {
    let core = |core: &&super::super::facts::OwnedCore| -> Vec<CpuSet> {
        match case.request.level {
            Some(Level::Cores) => vec![core.cpus.clone()],
            _ => core
                .pus
                .iter()
                .map(|cpu| std::iter::once(*cpu).collect())
                .collect(),
        }
    };
    // What there is to take on each socket, in order.
    let sockets = case.owned.by_socket();
    let mut sockets: Vec<Vec<CpuSet>> = sockets
        .iter()
        .map(|cores| cores.iter().flat_map(core).collect())
        .collect();
    if sockets.iter().map(Vec::len).sum::<usize>() < case.request.tasks as usize {
        return Verdict::Aside;
    }
    if case.request.distribution.ends_with(":block") {
        sockets = vec![sockets.concat()];
    }
    let rounds = sockets.iter().map(Vec::len).max().unwrap_or(0);
    let round = |at: usize| {
        sockets
            .iter()
            .filter_map(move |socket| socket.get(at).cloned())
    };
    let expected: Vec<CpuSet> = (0..rounds)
        .flat_map(round)
        .take(case.request.tasks as usize)
        .collect();
    let masks = case.answer().map(|answer| answer.masks);
    Verdict::when(masks.as_ref() == Ok(&expected), || {
        format!("expected {expected:?}")
    })
}
