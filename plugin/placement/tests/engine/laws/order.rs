//! Block fills cores and sockets one after the other; cyclic gives the next task the next socket.

use berth_placement::{CpuSet, Level};

use crate::harness::ask::{Ask, distribution};
use crate::harness::random::Random;
use crate::harness::requests::plain;
use crate::harness::tree::{OwnedCore, Tree};
use crate::harness::trial::{Case, Verdict, holds};

pub fn single(random: &mut Random, tree: &Tree) -> Ask {
    let mut ask = plain(random, tree, &[Some(Level::Threads), Some(Level::Cores)]);
    let orders = [
        "block:block",
        "block:cyclic",
        "block:fcyclic",
        "cyclic:block",
    ];
    ask.request.cpus_per_task = 1;
    ask.request.distribution = distribution(random.pick(&orders));
    ask
}

/// Tasks of one CPU take threads and cores in slurmd's order.
pub fn walked(case: &Case) -> Verdict {
    let by_cores = case.ask.request.cpu_bind.level == Some(Level::Cores);
    let places = |core: &&OwnedCore| -> Vec<CpuSet> {
        if by_cores {
            return vec![core.cpus.clone()];
        }
        let each = core.pus.iter();
        each.map(|cpu| std::iter::once(*cpu).collect()).collect()
    };
    // What there is to take on each socket, in order.
    let sockets = case.owned.by_socket();
    let mut sockets: Vec<Vec<CpuSet>> = sockets
        .iter()
        .map(|cores| cores.iter().flat_map(places).collect())
        .collect();
    if sockets.iter().map(Vec::len).sum::<usize>() < case.tasks() {
        return None;
    }
    let order = case.ask.request.distribution.to_string();
    if order.ends_with(":block") {
        sockets = vec![sockets.concat()];
    }
    let rounds = sockets.iter().map(Vec::len).max().unwrap_or(0);
    let round = |at: usize| {
        sockets
            .iter()
            .filter_map(move |socket| socket.get(at).cloned())
    };
    let all = (0..rounds).flat_map(round);
    let expected: Vec<CpuSet> = all.take(case.tasks()).collect();
    let masks = case.answer().map(|answer| answer.masks);
    holds(masks.as_ref() == Ok(&expected), || {
        format!("expected {expected:?}")
    })
}
