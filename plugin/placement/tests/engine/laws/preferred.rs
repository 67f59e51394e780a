//! Isolated CPUs and kinds of cores, which no option names: the same request is asked on a machine with
//! them and on the same machine without.

use berth_placement::{CoreKind, CpuSet, Level, Machine, Parts, Refusal};

use crate::harness::ask::{Answer, Ask};
use crate::harness::random::Random;
use crate::harness::requests::plain;
use crate::harness::tree::Tree;
use crate::harness::trial::{Case, Verdict, holds};

pub fn at_a_level(random: &mut Random, tree: &Tree) -> Ask {
    plain(
        random,
        tree,
        &[None, Some(Level::Threads), Some(Level::Cores)],
    )
}

/// About a third of the machine's cores.
fn some_cores(case: &Case) -> CpuSet {
    let mut random = Random::new(case.random);
    let cores = case.tree.cores.iter().filter(|_| random.once_in(3));
    cores.flat_map(|core| core.pus.iter().copied()).collect()
}

fn asked_with(case: &Case, parts: Parts) -> Result<Answer, Refusal> {
    let machine = Machine::new(parts).expect("the same machine");
    case.ask.answer(&machine.into(), case.tree.kind)
}

/// Tasks have isolated CPUs only with a note, and never if the others have room for all.
pub fn isolated(case: &Case) -> Verdict {
    let isolated = some_cores(case);
    let left = case.owned.cpus.difference(&isolated);
    if left.is_empty() {
        return None;
    }
    let parts = Parts {
        isolated: isolated.clone(),
        ..case.tree.machine.parts().clone()
    };
    let (with, without) = match (asked_with(case, parts), case.answer()) {
        (Ok(with), Ok(without)) => (with, without),
        (with, without) => return holds(with == without, || format!("{with:?}")),
    };
    let uses = with.used().intersects(&isolated);
    let says = with.notes.iter().any(|note| note.contains("isolates"));
    let threads = case.ask.request.cpu_bind.level == Some(Level::Threads);
    let room = threads && case.ask.wanted() <= left.count() && without.notes.is_empty();
    holds(uses == says && !(uses && room), || {
        format!("{isolated} are isolated, {with:?}")
    })
}

/// With kinds of cores no more tasks mix kinds, none has less, and none shares more.
pub fn one_kind(case: &Case) -> Verdict {
    let slow = some_cores(case);
    let fast = case.tree.machine.cpus().difference(&slow);
    if slow.is_empty() || fast.is_empty() {
        return None;
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
        (with, without) => return holds(with == without, || format!("{with:?}")),
    };
    let mixed = |answer: &Answer| {
        let mixes = |mask: &&CpuSet| mask.intersects(&slow) && mask.intersects(&fast);
        answer.masks.iter().filter(mixes).count()
    };
    let least = |answer: &Answer| answer.masks.iter().map(CpuSet::count).min();
    let requested = case.ask.request.cpus_per_task as usize;
    let is_enough = least(&with) >= least(&without).min(Some(requested));
    let are_apart = |answer: &Answer| {
        let all: usize = answer.masks.iter().map(CpuSet::count).sum();
        all == answer.used().count()
    };
    let has_all = with.masks.len() == without.masks.len() && is_enough;
    let shares_no_more = are_apart(&with) || !are_apart(&without);
    let mixes_no_more = mixed(&with) <= mixed(&without);
    holds(has_all && shares_no_more && mixes_no_more, || {
        format!("{slow} are slow: {with:?}, else {without:?}")
    })
}
