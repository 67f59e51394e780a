//! Notes to the user on a placement by level: a `-c` or a limit could not hold, or
//! tasks share CPUs although others stay idle.
//! In: what the walk placed. Out: notes. Pure.

use crate::answer::note::Note;
use crate::answer::plan::TaskPlan;
use crate::request::cpu_bind::Level;
use crate::request::fixes::Fix;
use crate::sets::ids::PuIdx;
use crate::strategy::level::walk::{Placed, Walk};
use crate::strategy::situation::Situation;
use crate::topology::domains::Domains;

/// The notes on a placement.
pub(super) fn of(
    here: &Situation<'_>,
    placed: &Placed,
    walk: &Walk,
    tasks: &[TaskPlan],
) -> Vec<Note> {
    let mut notes = Vec::new();
    let asked = here.request.cpus_per_task;
    if walk.cpus_per_task < asked && here.has(Fix::SayShrunk) {
        notes.push(Note::CpusPerTaskShrunk {
            asked,
            given: walk.cpus_per_task,
            tasks: walk.tasks,
            own: here.owned.count,
        });
    }
    if placed.shares || placed.exceeds {
        notes.extend(limits(here, placed, walk));
    }
    if placed.shares {
        notes.extend(sharing(here, placed, walk));
        let short = (0..)
            .zip(tasks)
            .find(|(_, task)| task.cpus.count() < walk.cpus_per_task as usize);
        if let (Some((task, short)), true) = (short, here.has(Fix::SayShrunk)) {
            notes.push(Note::TaskShort {
                task,
                asked,
                given: short.cpus.count() as u32,
            });
        }
    }
    notes
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
    let mut counts = vec![(0, None); domains.len()];
    for (task, pus) in placed.tasks().enumerate() {
        for pu in pus {
            let (count, last) = &mut counts[domains.of(*pu) as usize];
            if last.replace(task) != Some(task) {
                *count += 1;
            }
        }
    }
    counts.iter().map(|(count, _)| *count).max().unwrap_or(0)
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
            asked: request.cpus_per_task,
            given: own,
            tasks: request.tasks,
            own,
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
            let pus = (0..table.len() as u32).map(PuIdx);
            let idle = pus.filter(|pu| here.owned.has(*pu) && !is_used(*pu));
            ("hardware thread", idle.count())
        }
        Level::Cores => {
            let own = |core: &[PuIdx]| here.owned.among(core).next().is_some();
            let idle = |core: &&[PuIdx]| own(core) && !here.owned.among(core).any(is_used);
            ("core", table.cores.iter().filter(idle).count())
        }
        // Tasks on sockets and memory domains share them on purpose.
        Level::Sockets | Level::Ldoms => return None,
    };
    (idle > 0).then_some(Note::SharedWhileIdle {
        tasks: walk.tasks,
        unit,
        idle: idle as u32,
        threads_per_core: walk.threads_per_core,
    })
}
