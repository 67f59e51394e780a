//! No task bound to cores or threads gets cores of two kinds if that can be avoided.
//! In: the situation, a strategy for a level. Out: its plan; where that mixes kinds and each kind has
//! room for whole tasks, a plan for each kind, the fastest first. Pure.

use crate::answer::decision::{LevelFrom, Rule};
use crate::answer::plan::{Plan, TaskPlan};
use crate::answer::refusal::Refusal;
use crate::owned::Owned;
use crate::request::Request;
use crate::request::cpu_bind::Level;
use crate::sets::cpuset::CpuSet;
use crate::strategy::level::by_level;
use crate::strategy::situation::Situation;
use crate::topology::kinds::CoreKind;
use crate::topology::object::ObjectKind;

/// The plan of a strategy whose tasks keep to cores of one kind each.
pub(super) fn choose(
    here: &Situation<'_>,
    strategy: impl Fn(&Situation<'_>) -> Result<Plan, Refusal>,
) -> Result<Plan, Refusal> {
    let plan = strategy(here)?;
    let kinds = here
        .node
        .machine()
        .map_or(&[][..], |machine| machine.kinds());
    let mixes = kinds.len() > 1 && plan.tasks.iter().any(|task| is_mixed(&task.cpus, kinds));
    match plan.decision.rule {
        Rule::Level { level, from, .. } if mixes && is_narrow(level) => {
            let apart = apart(here, (level, from), kinds, &plan);
            Ok(apart.unwrap_or(plan))
        }
        _ => Ok(plan),
    }
}

/// Whether tasks are bound to parts of sockets.
fn is_narrow(level: Level) -> bool {
    matches!(level, Level::Cores | Level::Threads)
}

/// Whether a limit counts the tasks of all kinds together.
fn is_limited(request: &Request) -> bool {
    request.ntasks_per_core.is_some() || request.ntasks_per_socket.is_some()
}

fn is_mixed(cpus: &CpuSet, kinds: &[CoreKind]) -> bool {
    let touched = kinds.iter().filter(|kind| kind.cpus.intersects(cpus));
    touched.count() > 1
}

/// Tasks fill the kinds one after the other; `None` if they do not all fit so, or get less.
fn apart(
    here: &Situation<'_>,
    (level, from): (Level, LevelFrom),
    kinds: &[CoreKind],
    mixed: &Plan,
) -> Option<Plan> {
    if is_limited(here.request) {
        return None;
    }
    let mut tasks: Vec<TaskPlan> = Vec::with_capacity(mixed.tasks.len());
    for kind in kinds.iter().rev() {
        let left = here.request.tasks - tasks.len() as u32;
        let owned = here.owned.within(&kind.cpus, here.node);
        let count = room(here, &owned, level).min(left);
        if count == 0 {
            continue;
        }
        let request = Request {
            tasks: count,
            ..here.request.clone()
        };
        let of_kind = Situation {
            request: &request,
            owned: &owned,
            ..*here
        };
        let plan = by_level(&of_kind, level, from).ok()?;
        let is_bound = matches!(plan.decision.rule, Rule::Level { .. });
        if !is_bound || plan.notes != mixed.notes {
            return None;
        }
        tasks.extend(plan.tasks);
    }
    let all = tasks.len() == mixed.tasks.len();
    let as_apart = is_apart(&tasks) || !is_apart(&mixed.tasks);
    let as_near = || {
        let spanning = |tasks: &[TaskPlan]| FAR.map(|kind| spanning(here, kind, tasks));
        let (one, other) = (spanning(&tasks), spanning(&mixed.tasks));
        one.iter().zip(other).all(|(apart, mixed)| *apart <= mixed)
    };
    (all && as_apart && as_near()).then(|| Plan {
        tasks,
        ..mixed.clone()
    })
}

/// Whether no CPU has two tasks.
fn is_apart(tasks: &[TaskPlan]) -> bool {
    let mut used = CpuSet::new();
    tasks.iter().all(|task| {
        let is_free = !task.cpus.intersects(&used);
        used.insert_all(&task.cpus);
        is_free
    })
}

/// Objects that a task spans at a price.
const FAR: [ObjectKind; 2] = [ObjectKind::Package, ObjectKind::Numa];

/// Tasks that have CPUs of several of these objects.
fn spanning(here: &Situation<'_>, kind: ObjectKind, tasks: &[TaskPlan]) -> usize {
    let machine = here.node.machine();
    let objects = machine.map_or(Vec::new(), |machine| machine.objects(kind));
    let spans = |task: &&TaskPlan| {
        let touched = objects.iter().filter(|cpus| cpus.intersects(&task.cpus));
        touched.count() > 1
    };
    tasks.iter().filter(spans).count()
}

/// Tasks that have their CPUs among these: at the level of cores each has its own cores.
fn room(here: &Situation<'_>, owned: &Owned, level: Level) -> u32 {
    let limit = here.threads_per_core().unwrap_or(u32::MAX);
    let each = here.request.cpus_per_task.max(1);
    let table = here.node.table();
    if level == Level::Threads {
        return owned.count_within(table, limit) / each;
    }
    let (mut tasks, mut has) = (0, 0);
    for pus in table.cores.iter() {
        has += (owned.among(pus).count() as u32).min(limit);
        if has >= each {
            (tasks, has) = (tasks + 1, 0);
        }
    }
    tasks
}
