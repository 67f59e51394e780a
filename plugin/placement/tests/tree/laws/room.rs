//! Tasks share no CPU while there is room. If they share although CPUs are idle, a note reports it.

use berth_placement::{CpuId, CpuSet};

use super::super::asking::{any, plain};
use super::super::door::{Ask, Level};
use super::super::facts::Tree;
use super::super::harness::{Case, Law, Verdict};
use super::super::random::Random;

pub const THREADS_APART: Law = Law {
    name: "bound to threads, no two tasks share one while there is room",
    request: |random, tree| plain(random, tree, &[Some(Level::Threads)]),
    holds: threads_apart,
};

pub const CORES_APART: Law = Law {
    name: "bound to cores, no two tasks share one while there is room",
    request: |random, tree| plain(random, tree, &[Some(Level::Cores)]),
    holds: cores_apart,
};

pub const CPUS_FOR_ALL: Law = Law {
    name: "in their masks the tasks find a CPU each for all that they ask for",
    request: unlimited,
    holds: cpus_for_all,
};

pub const CORES_HAVE_CPUS_FOR_ALL: Law = Law {
    name: "tasks on cores that have to share share those with more threads",
    request: |random, tree| plain(random, tree, &[Some(Level::Cores)]),
    holds: wide_cores_first,
};

pub const NEVER_SILENT: Law = Law {
    name: "a note reports tasks that share CPUs although other CPUs are idle",
    request: crowded,
    holds: never_silent,
};

/// With one thread a core more often than not: then CPUs are idle beside shared ones.
fn crowded(random: &mut Random, tree: &Tree) -> Ask {
    let request = without_binding(random, tree);
    if random.once_in(2) {
        return request;
    }
    Ask {
        one_thread: true,
        level: Some(Level::Threads),
        ..request
    }
}

fn unlimited(random: &mut Random, tree: &Tree) -> Ask {
    let levels = [
        None,
        Some(Level::Threads),
        Some(Level::Sockets),
        Some(Level::Ldoms),
    ];
    plain(random, tree, &levels)
}

fn without_binding(random: &mut Random, tree: &Tree) -> Ask {
    Ask {
        binding: None,
        ..any(random, tree)
    }
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

fn threads_apart(case: &Case) -> Verdict {
    // A smaller -c makes room too.
    if case.request.tasks as usize > case.owned.count() {
        return Verdict::Aside;
    }
    let Ok(answer) = case.answer() else {
        return Verdict::Aside;
    };
    let again = shared(&answer.masks);
    Verdict::when(again.is_none(), || format!("CPU {again:?} twice"))
}

fn cores_apart(case: &Case) -> Verdict {
    let one_by_one = case.request.distribution.contains("fcyclic");
    let needed = case
        .owned
        .cores_needed(case.request.cpus_per_task, one_by_one);
    let room =
        needed.is_some_and(|each| each * case.request.tasks as usize <= case.owned.cores.len());
    let (true, Ok(answer)) = (room, case.answer()) else {
        return Verdict::Aside;
    };
    for core in &case.owned.cores {
        let tasks = answer
            .masks
            .iter()
            .filter(|mask| mask.intersects(&core.cpus));
        if tasks.count() > 1 {
            return Verdict::Broken(format!("core {} with CPUs {} twice", core.at, core.cpus));
        }
    }
    Verdict::Holds
}

fn cpus_for_all(case: &Case) -> Verdict {
    if case.request.wanted() > case.owned.count() {
        return Verdict::Aside;
    }
    let Ok(answer) = case.answer() else {
        return Verdict::Aside;
    };
    let alone = can_have_each(&answer.masks, case.request.cpus_per_task);
    Verdict::when(alone, || "some CPU has to serve two".into())
}

/// Where all cores are alike, tasks of several cores share as with task/affinity.
fn wide_cores_first(case: &Case) -> Verdict {
    let mut widths = case.owned.cores.iter().map(|core| core.pus.len());
    let first = widths.next();
    if widths.all(|width| Some(width) == first) {
        return Verdict::Aside;
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
fn never_silent(case: &Case) -> Verdict {
    let Ok(answer) = case.answer() else {
        return Verdict::Aside;
    };
    let masks = &answer.masks;
    let used: CpuSet = masks.iter().flat_map(CpuSet::iter).collect();
    let idle = case.owned.cpus.difference(&used);
    let share = match case.request.level {
        Some(Level::Threads | Level::Cores) => shared(masks).is_some(),
        _ => !can_have_each(masks, 1),
    };
    if idle.is_empty() || !share {
        return Verdict::Aside;
    }
    Verdict::when(!answer.notes.is_empty(), || {
        format!("tasks share although {idle} is idle, and no note says so")
    })
}
