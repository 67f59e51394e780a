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
use crate::topology::objects::ObjectKind;
use crate::topology::parts::CoreKind;

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

/// Tasks fill the kinds one after the other; `None` if they do not all fit so, or get less. A kind is taken as
/// it is, or else without the cores at the end of a package or NUMA node that are too few for a task.
fn apart(
    here: &Situation<'_>,
    (level, from): (Level, LevelFrom),
    kinds: &[CoreKind],
    mixed: &Plan,
) -> Option<Plan> {
    if is_limited(here.request) {
        return None;
    }
    let whole = |kind: &CoreKind| here.owned.within(&kind.cpus, here.node);
    let by_object = |kind: &CoreKind| {
        let owned = whole(kind);
        owned.within(&near(here, &owned, level), here.node)
    };
    let fill = |owned: &dyn Fn(&CoreKind) -> Owned| {
        let kinds = kinds.iter().rev().map(owned);
        filled(here, (level, from), kinds, mixed).filter(|tasks| is_as_good(here, tasks, mixed))
    };
    let tasks = fill(&whole).or_else(|| fill(&by_object))?;
    Some(Plan {
        tasks,
        ..mixed.clone()
    })
}

/// The tasks in parts of what the step owns, one part after the other.
fn filled(
    here: &Situation<'_>,
    (level, from): (Level, LevelFrom),
    parts: impl Iterator<Item = Owned>,
    mixed: &Plan,
) -> Option<Vec<TaskPlan>> {
    let mut tasks: Vec<TaskPlan> = Vec::with_capacity(mixed.tasks.len());
    for owned in parts {
        let left = here.request.tasks - tasks.len() as u32;
        let count = room(here, &owned, level).0.min(left);
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
    (tasks.len() == mixed.tasks.len()).then_some(tasks)
}

/// Whether no more tasks than in the mixed plan share CPUs or span objects.
fn is_as_good(here: &Situation<'_>, tasks: &[TaskPlan], mixed: &Plan) -> bool {
    let spanning = |tasks: &[TaskPlan]| FAR.map(|kind| spanning(here, kind, tasks));
    let (one, other) = (spanning(tasks), spanning(&mixed.tasks));
    let as_near = one.iter().zip(other).all(|(apart, mixed)| *apart <= mixed);
    as_near && (is_apart(tasks) || !is_apart(&mixed.tasks))
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

/// The CPUs of these that tasks fill without spanning objects.
fn near(here: &Situation<'_>, owned: &Owned, level: Level) -> CpuSet {
    let mut parts = vec![owned.cpus.clone()];
    for kind in FAR {
        let machine = here.node.machine();
        let objects = machine.map_or(Vec::new(), |machine| machine.objects(kind));
        if !objects.is_empty() {
            let pairs = parts
                .iter()
                .flat_map(|part| objects.iter().map(move |cpus| (part, cpus)));
            let cut = pairs.map(|(part, cpus)| part.intersection(cpus));
            parts = cut.filter(|part| !part.is_empty()).collect();
        }
    }
    let mut near = CpuSet::new();
    for part in parts {
        near.insert_all(&room(here, &owned.within(&part, here.node), level).1);
    }
    near
}

/// The number of tasks that have their CPUs among these, and those CPUs: at the level of cores each task has
/// its own cores.
fn room(here: &Situation<'_>, owned: &Owned, level: Level) -> (u32, CpuSet) {
    let limit = here.threads_per_core().unwrap_or(u32::MAX);
    let each = here.request.cpus_per_task.max(1);
    let table = here.node.table();
    let (mut tasks, mut has) = (0, 0);
    let (mut filled, mut begun) = (CpuSet::new(), CpuSet::new());
    for pus in table.cores.iter() {
        has += (owned.among(pus).count() as u32).min(limit);
        begun.insert_all(&table.cpus(owned.among(pus)));
        if has < each {
            continue;
        }
        tasks += if level == Level::Threads {
            has / each
        } else {
            1
        };
        has = if level == Level::Threads {
            has % each
        } else {
            0
        };
        filled.insert_all(&std::mem::take(&mut begun));
    }
    (tasks, filled)
}
