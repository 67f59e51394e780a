//! Isolated CPUs and kinds of cores, which no option names: the same request is asked on a machine with
//! them and on the same machine without.

use berth_placement::{CoreKind, CpuSet, Machine, Parts};

use super::super::asking::plain;
use super::super::door::{Answer, Ask, Level, answer};
use super::super::facts::Tree;
use super::super::harness::{Case, Law, Verdict};
use super::super::random::Random;

pub const ISOLATED: Law = Law {
    name: "tasks have isolated CPUs only with a note, and never if the others have room for all",
    request: at_a_level,
    holds: isolated,
};

pub const ONE_KIND: Law = Law {
    name: "with kinds of cores no more tasks mix kinds, none has less, and none shares more",
    request: at_a_level,
    holds: one_kind,
};

fn at_a_level(random: &mut Random, tree: &Tree) -> Ask {
    let levels = [None, Some(Level::Threads), Some(Level::Cores)];
    plain(random, tree, &levels)
}

/// About a third of the machine's cores.
fn some_cores(case: &Case) -> CpuSet {
    let mut random = Random::new(case.random);
    let cores = case.tree.cores.iter().filter(|_| random.once_in(3));
    cores.flat_map(|core| core.pus.iter().copied()).collect()
}

fn asked_with(case: &Case, parts: Parts) -> Result<Answer, String> {
    let machine = Machine::new(parts).expect("the same machine");
    answer(&case.request, &machine, case.tree.kind)
}

fn isolated(case: &Case) -> Verdict {
    let isolated = some_cores(case);
    let left = case.owned.cpus.difference(&isolated);
    if left.is_empty() {
        return Verdict::Aside;
    }
    let parts = Parts {
        isolated: isolated.clone(),
        ..case.tree.machine.parts().clone()
    };
    let (with, without) = (asked_with(case, parts), case.answer());
    let (with, without) = match (with, without) {
        (Ok(with), Ok(without)) => (with, without),
        (with, without) => return Verdict::when(with == without, || format!("{with:?}")),
    };
    let uses = with.masks.iter().any(|mask| mask.intersects(&isolated));
    let says = with.notes.iter().any(|note| note.contains("isolates"));
    let threads = case.request.level == Some(Level::Threads);
    let room = threads && case.request.wanted() <= left.count() && without.notes.is_empty();
    Verdict::when(uses == says && !(uses && room), || {
        format!("{isolated} are isolated, {with:?}")
    })
}

fn one_kind(case: &Case) -> Verdict {
    let slow = some_cores(case);
    let fast = case.tree.machine.cpus().difference(&slow);
    if slow.is_empty() || fast.is_empty() {
        return Verdict::Aside;
    }
    let kind = |(rank, cpus): (u32, &CpuSet)| CoreKind {
        cpus: cpus.clone(),
        rank: Some(rank),
        infos: Vec::new(),
    };
    let parts = Parts {
        kinds: (0..).zip([&slow, &fast]).map(kind).collect(),
        ..case.tree.machine.parts().clone()
    };
    let (with, without) = match (asked_with(case, parts), case.answer()) {
        (Ok(with), Ok(without)) => (with, without),
        (with, without) => return Verdict::when(with == without, || format!("{with:?}")),
    };
    let mixed = |answer: &Answer| {
        let mixes = |mask: &&CpuSet| mask.intersects(&slow) && mask.intersects(&fast);
        answer.masks.iter().filter(mixes).count()
    };
    let same_size = with.masks.len() == without.masks.len();
    let least = |answer: &Answer| answer.masks.iter().map(CpuSet::count).min();
    let enough = least(&with) >= least(&without).min(Some(case.request.cpus_per_task as usize));
    let apart = |answer: &Answer| {
        let all: usize = answer.masks.iter().map(CpuSet::count).sum();
        let used: CpuSet = answer.masks.iter().flat_map(|mask| mask.iter()).collect();
        all == used.count()
    };
    let as_apart = apart(&with) || !apart(&without);
    let holds = same_size && enough && as_apart && mixed(&with) <= mixed(&without);
    Verdict::when(holds, || {
        format!("{slow} are slow: {with:?}, else {without:?}")
    })
}
