//! `--binding=auto` on any machine, whatever the step owns of it: every core has one task while there are
//! as many cores as tasks, and none stays idle.

use berth_placement::CpuSet;

use super::super::asking::plain;
use super::super::door::Ask;
use super::super::facts::{OwnedCore, Tree};
use super::super::harness::{Case, Law, Verdict};
use super::super::random::Random;

pub const EVERY_CORE_ONCE: Law = Law {
    name: "auto: no core is shared or idle while there are as many cores as tasks",
    request: shared_out,
    holds: every_core_once,
};

pub const SIBLINGS_NEAR: Law = Law {
    name: "auto: with fewer cores than tasks no task has threads of two cores",
    request: shared_out,
    holds: inside_cores,
};

/// Requests as many tasks as there are cores or threads, fewer, or sometimes more.
fn shared_out(random: &mut Random, tree: &Tree) -> Ask {
    let request = plain(random, tree, &[None]);
    let smt = random.pick(&["auto", "auto", "auto:pack", "auto:smt=1", "auto:smt=2"]);
    Ask {
        cpus_per_task: 1,
        binding: Some(smt.into()),
        ..request
    }
}

/// The hardware threads of a core that the tasks use.
fn used(case: &Case, core: &OwnedCore) -> CpuSet {
    let text = case.request.binding.as_deref().unwrap_or_default();
    let limit = text.split_once("smt=").map(|(_, count)| count.parse());
    let limit = limit.map_or(usize::MAX, |count| count.expect("a number"));
    core.pus.iter().take(limit).copied().collect()
}

/// The step's cores without isolated CPUs, if it has others.
fn judged(case: &Case) -> bool {
    case.tree.machine.isolated().is_empty()
}

fn every_core_once(case: &Case) -> Verdict {
    let cores: Vec<CpuSet> = case
        .owned
        .cores
        .iter()
        .map(|core| used(case, core))
        .collect();
    if case.request.tasks as usize > cores.len() || !judged(case) {
        return Verdict::Aside;
    }
    let answer = match case.answer() {
        Ok(answer) => answer,
        Err(why) => return Verdict::Broken(format!("refused: {why}")),
    };
    for core in &cores {
        let tasks: Vec<_> = answer
            .masks
            .iter()
            .filter(|mask| mask.intersects(core))
            .collect();
        let whole = tasks.iter().all(|mask| core.is_subset(mask));
        if tasks.len() != 1 || !whole {
            return Verdict::Broken(format!("{} tasks are on the core {core}", tasks.len()));
        }
    }
    let threads: usize = cores.iter().map(CpuSet::count).sum();
    let given: usize = answer.masks.iter().map(CpuSet::count).sum();
    Verdict::when(
        given == threads && answer.masks.iter().all(|mask| !mask.is_empty()),
        || format!("{threads} CPUs are to be given, and {given} are"),
    )
}

fn inside_cores(case: &Case) -> Verdict {
    let cores: Vec<CpuSet> = case
        .owned
        .cores
        .iter()
        .map(|core| used(case, core))
        .collect();
    let (tasks, threads) = (
        case.request.tasks as usize,
        cores.iter().map(CpuSet::count).sum::<usize>(),
    );
    if tasks <= cores.len() || !judged(case) {
        return Verdict::Aside;
    }
    let answer = match case.answer() {
        Ok(answer) => answer,
        Err(why) => return Verdict::Broken(format!("refused: {why}")),
    };
    let inside = |mask: &CpuSet| !mask.is_empty() && cores.iter().any(|core| mask.is_subset(core));
    let used: CpuSet = answer.masks.iter().flat_map(|mask| mask.iter()).collect();
    let by_turns = !answer.notes.is_empty();
    let fits = answer.masks.iter().all(inside) && used.count() == threads;
    Verdict::when(fits && by_turns == (tasks > threads), || {
        format!("{threads} hardware threads for {tasks} tasks")
    })
}
