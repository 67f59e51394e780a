//! Notes to the user on a placement by level: a `-c` or a limit could not hold, or
//! tasks share CPUs although others stay idle.
//! In: what the walk placed. Out: notes. Pure.

use crate::answer::decision::LevelFrom;
use crate::answer::note::Note;
use crate::answer::plan::TaskPlan;
use crate::request::cpu_bind::Level;
use crate::request::fixes::Fix;
use crate::sets::ids::PuIdx;
use crate::strategy::level::walk::{Placed, Walk};
use crate::strategy::situation::{Situation, first_short};
use crate::topology::domains::Domains;

/// The notes on a placement.
pub(super) fn of(
    here: &Situation<'_>,
    placed: &Placed,
    walk: &Walk,
    tasks: &[TaskPlan],
) -> Vec<Note> {
    let mut notes = Vec::new();
    if walk.cpus_per_task < here.request.cpus_per_task && here.has(Fix::SayShrunk) {
        notes.extend(shrunk(here, placed, walk, tasks));
    }
    if placed.shares || placed.exceeds {
        notes.extend(limits(here, placed, walk));
    }
    if placed.shares {
        notes.extend(sharing(here, placed, walk));
        let short = short(here, tasks, walk.cpus_per_task).filter(|_| here.has(Fix::SayShrunk));
        notes.extend(short.filter(|short| !notes.contains(short)));
    }
    notes
}

/// The note on a `-c` that could not hold. Where whole cores give some tasks as much as they request, only a
/// task that has less is named.
fn shrunk(here: &Situation<'_>, placed: &Placed, walk: &Walk, tasks: &[TaskPlan]) -> Option<Note> {
    let requested = here.request.cpus_per_task;
    let counts = || tasks.iter().map(|task| task.cpus.count() as u32);
    let is_served = |count: u32| count >= requested;
    if walk.level == Level::Cores && !placed.shares && counts().any(is_served) {
        return short(here, tasks, requested);
    }
    Some(Note::CpusPerTaskShrunk {
        requested,
        given: walk.cpus_per_task,
        tasks: walk.tasks,
        own: here.owned.count,
        is_widened: walk.level == Level::Cores && counts().any(|count| count > walk.cpus_per_task),
    })
}

/// The note on the first task with fewer CPUs than so many.
fn short(here: &Situation<'_>, tasks: &[TaskPlan], least: u32) -> Option<Note> {
    let (task, given) = first_short(tasks, least)?;
    Some(Note::TaskShort {
        task,
        requested: here.request.cpus_per_task,
        given,
    })
}

/// The limits on the number of tasks that do not hold.
fn limits(here: &Situation<'_>, placed: &Placed, walk: &Walk) -> Vec<Note> {
    let table = here.node.table();
    let limits = [
        ("--ntasks-per-core", walk.ntasks_per_core, &table.cores),
        (
            "--ntasks-per-socket",
            walk.ntasks_per_socket,
            &table.sockets,
        ),
    ];
    let exceeded = limits.into_iter().filter_map(|(option, limit, domains)| {
        let limit = limit.filter(|_| here.has(Fix::SpreadLimits))?;
        let most = most_tasks(domains, placed);
        (most > limit).then_some(Note::LimitExceeded {
            option,
            limit,
            tasks: walk.tasks,
            most,
        })
    });
    exceeded.collect()
}

/// The largest number of tasks on one object.
fn most_tasks(domains: &Domains, placed: &Placed) -> u32 {
    tasks_of_each(domains, placed)
        .into_iter()
        .max()
        .unwrap_or(0)
}

/// The number of tasks on each object.
fn tasks_of_each(domains: &Domains, placed: &Placed) -> Vec<u32> {
    // A task with several CPUs on an object counts once there.
    let mut counts = vec![(0, None); domains.len()];
    for (task, pus) in placed.tasks().enumerate() {
        for pu in pus {
            let (count, last) = &mut counts[domains.of(*pu) as usize];
            if last.replace(task) != Some(task) {
                *count += 1;
            }
        }
    }
    counts.into_iter().map(|(count, _)| count).collect()
}

/// The notes if every task may use all of the step's CPUs.
pub(super) fn of_all(here: &Situation<'_>) -> Option<Note> {
    let request = here.request;
    let own = here.owned.count;
    if own == 0 {
        return None;
    }
    if let Some(note) = here.shares_unreserved() {
        return Some(note);
    }
    if own < request.cpus_per_task && here.has(Fix::SayShrunk) {
        return Some(Note::CpusPerTaskShrunk {
            requested: request.cpus_per_task,
            given: own,
            tasks: request.tasks,
            own,
            is_widened: false,
        });
    }
    let crowded = own < request.tasks && !request.overcommit && here.has(Fix::SayShared);
    crowded.then_some(Note::MoreTasksThanCpus {
        tasks: request.tasks,
        own,
    })
}

/// The note if tasks share CPUs although others of the step are idle.
fn sharing(here: &Situation<'_>, placed: &Placed, walk: &Walk) -> Option<Note> {
    if !here.has(Fix::SayShared) {
        return None;
    }
    let table = here.node.table();
    let mut used = vec![false; table.len()];
    let all = placed.tasks().flatten();
    all.for_each(|pu| used[pu.index()] = true);
    let is_used = |pu: PuIdx| used[pu.index()];
    let (unit, idle) = match walk.level {
        Level::Threads => {
            let idle = here.owned.pus().filter(|pu| !is_used(*pu));
            ("hardware thread", idle.count())
        }
        Level::Cores => {
            let own = |core: &[PuIdx]| here.owned.among(core).next().is_some();
            let idle = |core: &&[PuIdx]| own(core) && !here.owned.among(core).any(is_used);
            ("core", table.cores.iter().filter(idle).count())
        }
        // Tasks share these on purpose; [`piled`] has a word where others are idle.
        Level::Sockets | Level::Ldoms => return None,
    };
    (idle > 0).then_some(Note::SharedWhileIdle {
        tasks: walk.tasks,
        unit,
        idle: idle as u32,
        threads_per_core: walk.threads_per_core,
    })
}

/// The note if tasks have one socket or memory domain although others of the step have none, and one core where nobody
/// requested hardware threads or an order.
pub(super) fn piled(
    here: &Situation<'_>,
    placed: &Placed,
    walk: &Walk,
    from: LevelFrom,
) -> Option<Note> {
    if walk.tasks < 2 || !here.has(Fix::SayShared) {
        return None;
    }
    let table = here.node.table();
    let (unit, objects) = match walk.level {
        Level::Sockets => ("socket", &table.sockets),
        Level::Ldoms => ("NUMA node", here.node.ldoms()?.domains()),
        Level::Threads
            if from == LevelFrom::Site && here.request.distribution.sockets.is_none() =>
        {
            ("core", &table.cores)
        }
        Level::Threads | Level::Cores => return None,
    };
    let mut owned = vec![false; objects.len()];
    let own = here.owned.pus();
    own.for_each(|pu| owned[objects.of(pu) as usize] = true);
    let counts = tasks_of_each(objects, placed);
    let is_idle = |(owned, tasks): &(&bool, &u32)| **owned && **tasks == 0;
    let idle = owned.iter().zip(&counts).filter(is_idle).count() as u32;
    let is_shared = counts.iter().any(|tasks| *tasks > 1);
    (is_shared && idle > 0).then_some(Note::ObjectsIdle {
        tasks: walk.tasks,
        unit,
        idle,
    })
}
