//! Tasks share no CPU while there is room. If they share although CPUs are idle, a note reports it.

use berth_placement::{CpuId, CpuSet, Level};

use crate::harness::ask::Ask;
use crate::harness::random::Random;
use crate::harness::requests::{plain, without_binding};
use crate::harness::tree::Tree;
use crate::harness::trial::{Case, Verdict, broken, holds};

pub fn at_threads(random: &mut Random, tree: &Tree) -> Ask {
    plain(random, tree, &[Some(Level::Threads)])
}

pub fn at_cores(random: &mut Random, tree: &Tree) -> Ask {
    plain(random, tree, &[Some(Level::Cores)])
}

/// With one thread a core more often than not: then CPUs are idle beside shared ones.
pub fn crowded(random: &mut Random, tree: &Tree) -> Ask {
    let mut ask = without_binding(random, tree);
    if random.once_in(2) {
        ask.request.cpu_bind.one_thread = true;
        ask.request.cpu_bind.level = Some(Level::Threads);
    }
    ask
}

pub fn not_at_cores(random: &mut Random, tree: &Tree) -> Ask {
    let levels = [Level::Threads, Level::Sockets, Level::Ldoms].map(Some);
    plain(random, tree, &[&levels[..], &[None]].concat())
}

/// The first CPU that stands in two masks.
pub fn shared(masks: &[CpuSet]) -> Option<CpuId> {
    let mut seen = CpuSet::new();
    masks.iter().find_map(|mask| {
        let again = mask.intersection(&seen).lowest();
        seen.insert_all(mask);
        again
    })
}

/// Bound to threads, no two tasks share one while there is room.
pub fn threads_apart(case: &Case) -> Verdict {
    // A smaller -c makes room too.
    if case.tasks() > case.owned.count() {
        return None;
    }
    let answer = case.answer().ok()?;
    let again = shared(&answer.masks);
    holds(again.is_none(), || format!("CPU {again:?} twice"))
}

/// Bound to cores, no two tasks share one while there is room.
pub fn cores_apart(case: &Case) -> Verdict {
    let needed = case.cores_needed()?;
    if needed * case.tasks() > case.owned.cores.len() {
        return None;
    }
    let answer = case.answer().ok()?;
    for core in &case.owned.cores {
        let on_it = |mask: &&CpuSet| mask.intersects(&core.cpus);
        if answer.masks.iter().filter(on_it).count() > 1 {
            return broken(format!("core {} with CPUs {} twice", core.at, core.cpus));
        }
    }
    Some(Ok(()))
}

/// In their masks the tasks find a CPU each for all that they ask for.
pub fn cpus_for_all(case: &Case) -> Verdict {
    if case.ask.wanted() > case.owned.count() {
        return None;
    }
    let answer = case.answer().ok()?;
    let alone = can_have_each(&answer.masks, case.ask.request.cpus_per_task);
    holds(alone, || "some CPU has to serve two".into())
}

/// Tasks on cores that have to share share those with more threads. Where all cores are alike, tasks of several cores
/// share as with task/affinity.
pub fn wide_cores_first(case: &Case) -> Verdict {
    let mut widths = case.owned.cores.iter().map(|core| core.pus.len());
    let first = widths.next();
    if widths.all(|width| Some(width) == first) {
        return None;
    }
    cpus_for_all(case)
}

/// Whether each task can have so many CPUs of its mask for itself alone.
fn can_have_each(masks: &[CpuSet], each: u32) -> bool {
    let mut holder: Vec<Option<usize>> = Vec::new();
    let wishes = masks.iter().enumerate();
    let mut wishes = wishes.flat_map(|(task, _)| std::iter::repeat_n(task, each as usize));
    wishes.all(|task| {
        let mut tried = CpuSet::new();
        find(task, masks, &mut holder, &mut tried)
    })
}

/// Finds a CPU for a task, which others may have to leave (augmenting paths).
fn find(
    task: usize,
    masks: &[CpuSet],
    holder: &mut Vec<Option<usize>>,
    tried: &mut CpuSet,
) -> bool {
    let free = masks[task]
        .iter()
        .find(|cpu| holder.get(cpu.index()).is_none_or(Option::is_none));
    if let Some(cpu) = free {
        holder.resize(holder.len().max(cpu.index() + 1), None);
        holder[cpu.index()] = Some(task);
        return true;
    }
    for cpu in masks[task].iter() {
        if tried.contains(cpu) {
            continue;
        }
        tried.insert(cpu);
        let other = holder[cpu.index()].expect("no CPU is free");
        if other != task && find(other, masks, holder, tried) {
            holder[cpu.index()] = Some(task);
            return true;
        }
    }
    false
}

/// Tasks on cores share where one core is in two masks, tasks on threads where one thread is;
/// of wider masks those share that have too few CPUs for their tasks.
pub fn never_silent(case: &Case) -> Verdict {
    let answer = case.answer().ok()?;
    let masks = &answer.masks;
    let idle = case.owned.cpus.difference(&answer.used());
    let share = match case.ask.request.cpu_bind.level {
        Some(Level::Threads | Level::Cores) => shared(masks).is_some(),
        _ => !can_have_each(masks, 1),
    };
    if idle.is_empty() || !share {
        return None;
    }
    holds(!answer.notes.is_empty(), || {
        format!("tasks share although {idle} is idle, and no note says so")
    })
}
