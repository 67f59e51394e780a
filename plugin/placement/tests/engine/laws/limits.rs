//! Limits hold where they can; where they cannot, they are exceeded evenly, and a note says so.

use berth_placement::{CpuSet, Level};

use super::room::shared;
use crate::harness::ask::{Answer, Ask};
use crate::harness::random::Random;
use crate::harness::requests::plain;
use crate::harness::tree::Tree;
use crate::harness::trial::{Case, Verdict, broken, holds};

pub fn per_core(random: &mut Random, tree: &Tree) -> Ask {
    let mut ask = requested(random, tree, &[Level::Threads, Level::Cores]);
    ask.request.ntasks_per_core = Some(random.within(1, 3));
    ask
}

pub fn per_socket(random: &mut Random, tree: &Tree) -> Ask {
    let levels = [Level::Threads, Level::Cores, Level::Sockets];
    let mut ask = requested(random, tree, &levels);
    ask.request.ntasks_per_socket = Some(random.within(1, 5));
    ask
}

pub fn threads(random: &mut Random, tree: &Tree) -> Ask {
    let mut ask = requested(random, tree, &[Level::Threads]);
    ask.request.threads_per_core = random.maybe(2, 1, 3);
    ask.request.cpu_bind.one_thread = ask.request.threads_per_core.is_none();
    ask
}

fn requested(random: &mut Random, tree: &Tree, levels: &[Level]) -> Ask {
    let levels: Vec<_> = levels.iter().copied().map(Some).collect();
    let mut ask = plain(random, tree, &levels);
    if random.once_in(2) {
        ask.request.cpus_per_task = 1;
    }
    ask
}

/// Objects with a limit on the tasks (or threads) of each.
struct Limited {
    /// The owned CPUs of each.
    objects: Vec<CpuSet>,
    /// The number of tasks of one CPU for which each has room.
    room: Vec<usize>,
    limit: usize,
    /// Whether there is a way to keep all tasks within the limit; none where that is hard to tell.
    can_hold: Option<bool>,
}

impl Limited {
    fn judge(&self, answer: &Answer, single: bool) -> Verdict {
        let touches = |object: &CpuSet| {
            let there = answer.masks.iter().filter(|mask| mask.intersects(object));
            there.count()
        };
        let counts: Vec<usize> = self.objects.iter().map(touches).collect();
        let is_broken = counts.iter().any(|count| *count > self.limit);
        let tell = |what: &str| broken(format!("{what}: the counts are {counts:?}"));
        if is_broken && self.can_hold == Some(true) {
            return tell("the limit could hold");
        }
        if is_broken && answer.notes.is_empty() {
            return tell("exceeded without a note");
        }
        if is_broken && single && self.is_piled(&counts) {
            return tell("not exceeded evenly");
        }
        Some(Ok(()))
    }

    /// Whether a task could go from an object over its limit to one that has room and fewer.
    fn is_piled(&self, counts: &[usize]) -> bool {
        let most = counts
            .iter()
            .copied()
            .filter(|count| *count > self.limit)
            .max();
        let fewest = (0..counts.len()).filter(|at| counts[*at] < self.room[*at]);
        let fewest = fewest.map(|at| counts[at]).min();
        matches!((most, fewest), (Some(most), Some(fewest)) if fewest + 1 < most)
    }
}

/// The room for tasks within a limit.
fn within(room: &[usize], limit: usize) -> usize {
    room.iter().map(|room| limit.min(*room)).sum()
}

/// The answer, where each task could have a CPU of its own.
fn served(case: &Case) -> Option<Answer> {
    let room = case.tasks() <= case.owned.count();
    case.answer().ok().filter(|_| room)
}

/// A refusal is no way to keep a limit which can hold on whole cores.
fn refused(case: &Case, can_hold: bool) -> Option<Verdict> {
    let why = case.answer().err()?;
    let whole = case.owned.cores.iter().all(|core| core.whole);
    let wrong = can_hold && whole && case.ask.wanted() <= case.owned.count();
    wrong.then(|| broken(format!("the limit can hold; refused: {why}")))
}

/// Whether tasks of one CPU are on one core (or thread) while there is one for each.
fn piled(case: &Case, answer: &Answer) -> Option<Verdict> {
    let objects = match case.ask.request.cpu_bind.level {
        Some(Level::Threads) => case.owned.count(),
        Some(Level::Cores) => case.owned.cores.len(),
        _ => 0,
    };
    let room = case.ask.request.cpus_per_task == 1 && case.tasks() <= objects;
    let cpu = shared(&answer.masks).filter(|_| room)?;
    let what = format!("tasks are piled on CPU {cpu} while there is one for each");
    Some(broken(what))
}

pub fn of_cores(case: &Case) -> Verdict {
    let (tasks, limit) = (
        case.tasks(),
        case.ask.request.ntasks_per_core.unwrap_or(1) as usize,
    );
    let room: Vec<usize> = case.owned.cores.iter().map(|core| core.pus.len()).collect();
    let single = case.ask.request.cpus_per_task == 1;
    let alone = case
        .cores_needed()
        .is_some_and(|each| each * tasks <= case.owned.cores.len());
    let can_hold = match single {
        true => Some(tasks <= within(&room, limit)),
        false => alone.then_some(true),
    };
    if let Some(verdict) = refused(case, can_hold == Some(true)) {
        return verdict;
    }
    let answer = served(case)?;
    if let Some(verdict) = piled(case, &answer) {
        return verdict;
    }
    let cores = case.owned.cores.iter();
    Limited {
        objects: cores.map(|core| core.cpus.clone()).collect(),
        room,
        limit,
        can_hold,
    }
    .judge(&answer, single)
}

pub fn of_sockets(case: &Case) -> Verdict {
    let (tasks, limit) = (
        case.tasks(),
        case.ask.request.ntasks_per_socket.unwrap_or(1) as usize,
    );
    let objects = case.owned.sockets();
    let cpus: Vec<usize> = objects.iter().map(CpuSet::count).collect();
    let cores: Vec<usize> = case.owned.by_socket().iter().map(Vec::len).collect();
    let alone =
        case.ask.request.cpu_bind.level == Some(Level::Cores) && tasks <= case.owned.cores.len();
    let room = if alone { cores.clone() } else { cpus.clone() };
    let each = case.ask.request.cpus_per_task as usize;
    let wholly: Vec<usize> = cpus.iter().map(|count| count / each).collect();
    let spread = each > 1 && case.is_one_by_one();
    let can_hold = match (case.ask.request.cpu_bind.level, each) {
        // Full cyclic puts each task on several sockets.
        _ if spread => None,
        (Some(Level::Cores), 1) if tasks <= within(&cores, limit) => Some(true),
        (Some(Level::Cores), _) => None,
        (_, 1) => Some(tasks <= within(&cpus, limit)),
        _ => (tasks <= within(&wholly, limit)).then_some(true),
    };
    if let Some(verdict) = refused(case, can_hold == Some(true)) {
        return verdict;
    }
    let answer = served(case)?;
    if let Some(verdict) = piled(case, &answer) {
        return verdict;
    }
    // Where tasks on cores have to share some, even cores and even sockets contradict on unequal sockets.
    let are_equal = |counts: &[usize]| counts.windows(2).all(|pair| pair[0] == pair[1]);
    let alike = are_equal(&cores) && are_equal(&cpus);
    let even =
        each == 1 && (alone || alike || case.ask.request.cpu_bind.level != Some(Level::Cores));
    Limited {
        objects,
        room,
        limit,
        can_hold,
    }
    .judge(&answer, even)
}

pub fn of_threads(case: &Case) -> Verdict {
    let limit = case.ask.request.threads_per_core.unwrap_or(1) as usize;
    let room: Vec<usize> = case.owned.cores.iter().map(|core| core.pus.len()).collect();
    let can_hold = case.ask.wanted() <= within(&room, limit);
    if let Some(verdict) = refused(case, can_hold) {
        return verdict;
    }
    let answer = served(case)?;
    let used = answer.used();
    let mut cores = case.owned.cores.iter();
    let over = cores.any(|core| core.cpus.intersection(&used).count() > limit);
    if over && can_hold {
        return broken("the limit could hold");
    }
    // Threads that may be used serve as many tasks each: the limit itself is never exceeded.
    if case.ask.request.cpus_per_task == 1 && !over {
        let of = |cpu| {
            let with_it = answer.masks.iter().filter(|mask| mask.contains(cpu));
            with_it.count()
        };
        let counts: Vec<usize> = used.iter().map(of).collect();
        let (most, fewest) = (counts.iter().max(), counts.iter().min());
        let apart = most.zip(fewest).map_or(0, |(most, fewest)| most - fewest);
        return holds(apart <= 1, || {
            format!("not shared evenly: the counts are {counts:?}")
        });
    }
    holds(!over || !answer.notes.is_empty(), || {
        "exceeded without a note".into()
    })
}
