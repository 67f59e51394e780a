//! `--binding=auto` on any machine, whatever the step owns of it: every core has one task while there are
//! as many cores as tasks, and none stays idle.

use berth_placement::CpuSet;
use berth_placement::request::grid_engine::Strategy;

use crate::harness::ask::Ask;
use crate::harness::random::Random;
use crate::harness::requests::plain;
use crate::harness::tree::{OwnedCore, Tree};
use crate::harness::trial::{Case, Verdict, broken, holds};

/// Requests as many tasks as there are cores or threads, fewer, or sometimes more.
pub fn shared_out(random: &mut Random, tree: &Tree) -> Ask {
    let mut ask = plain(random, tree, &[None]);
    let share = random.pick(&["auto", "auto", "auto:pack", "auto:smt=1", "auto:smt=2"]);
    ask.request.cpus_per_task = 1;
    ask.request.binding = share.parse().ok();
    ask
}

/// The hardware threads of each core that the tasks use.
fn used(case: &Case) -> Vec<CpuSet> {
    let limit = match case
        .ask
        .request
        .binding
        .as_ref()
        .map(|binding| &binding.strategy)
    {
        Some(Strategy::Auto(share)) => share.smt.unwrap_or(u32::MAX),
        _ => u32::MAX,
    };
    let of = |core: &OwnedCore| core.pus.iter().take(limit as usize).copied().collect();
    case.owned.cores.iter().map(of).collect()
}

/// No core is shared or idle while there are as many cores as tasks.
pub fn every_core_once(case: &Case) -> Verdict {
    let cores = used(case);
    if case.tasks() > cores.len() || !case.tree.machine.isolated().is_empty() {
        return None;
    }
    let Ok(answer) = case.answer() else {
        return broken("it is refused");
    };
    for core in &cores {
        let on_it = |mask: &&CpuSet| mask.intersects(core);
        let tasks: Vec<_> = answer.masks.iter().filter(on_it).collect();
        let whole = tasks.iter().all(|mask| core.is_subset(mask));
        if tasks.len() != 1 || !whole {
            return broken(format!("{} tasks are on the core {core}", tasks.len()));
        }
    }
    let threads: usize = cores.iter().map(CpuSet::count).sum();
    let given: usize = answer.masks.iter().map(CpuSet::count).sum();
    let has_each = answer.masks.iter().all(|mask| !mask.is_empty());
    holds(given == threads && has_each, || {
        format!("{threads} CPUs are to be given, and {given} are")
    })
}

/// With fewer cores than tasks no task has threads of two cores.
pub fn inside_cores(case: &Case) -> Verdict {
    let (cores, tasks) = (used(case), case.tasks());
    if tasks <= cores.len() || !case.tree.machine.isolated().is_empty() {
        return None;
    }
    let Ok(answer) = case.answer() else {
        return broken("it is refused");
    };
    let threads: usize = cores.iter().map(CpuSet::count).sum();
    let inside = |mask: &CpuSet| !mask.is_empty() && cores.iter().any(|core| mask.is_subset(core));
    let fits = answer.masks.iter().all(inside) && answer.used().count() == threads;
    let by_turns = !answer.notes.is_empty();
    holds(fits && by_turns == (tasks > threads), || {
        format!("{threads} hardware threads for {tasks} tasks")
    })
}
