//! No task bound to cores or threads gets cores of two kinds if that can be avoided.
//! In: the situation, a strategy for a level. Out: its plan; where that mixes kinds and each kind has
//! room for whole tasks, a plan for each kind, the fastest first. Pure.

use crate::answer::decision::Rule;
use crate::answer::plan::{Plan, TaskPlan};
use crate::answer::refusal::Refusal;
use crate::owned::Owned;
use crate::request::Request;
use crate::request::cpu_bind::Level;
use crate::sets::cpuset::CpuSet;
use crate::sets::ids::CpuId;
use crate::strategy::situation::Situation;
use crate::topology::kinds::CoreKind;

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
    let Some(level) = level(&plan).filter(|_| mixes && !is_limited(here.request)) else {
        return Ok(plan);
    };
    Ok(apart(here, (level, kinds), &plan, strategy).unwrap_or(plan))
}

/// The level of a plan whose tasks are bound to parts of sockets.
fn level(plan: &Plan) -> Option<Level> {
    match plan.decision.rule {
        Rule::Level { level, .. } => Some(level),
        _ => None,
    }
    .filter(|level| matches!(level, Level::Cores | Level::Threads))
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
    (level, kinds): (Level, &[CoreKind]),
    mixed: &Plan,
    strategy: impl Fn(&Situation<'_>) -> Result<Plan, Refusal>,
) -> Option<Plan> {
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
        let plan = strategy(&Situation {
            request: &request,
            owned: &owned,
            ..*here
        });
        let plan = plan.ok().filter(|plan| self::level(plan) == Some(level))?;
        if plan.notes != mixed.notes {
            return None;
        }
        tasks.extend(plan.tasks);
    }
    let all = tasks.len() == mixed.tasks.len();
    let as_apart = is_apart(&tasks) || !is_apart(&mixed.tasks);
    let as_near = spanning(here, &tasks) <= spanning(here, &mixed.tasks);
    (all && as_apart && as_near).then(|| Plan {
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

/// Tasks that have CPUs of several sockets.
fn spanning(here: &Situation<'_>, tasks: &[TaskPlan]) -> usize {
    let machine = here.node.machine();
    let sockets = machine.map(|machine| machine.socket_of_cpu(here.node.socket()));
    let sockets = sockets.unwrap_or_default();
    let of = |cpu: CpuId| sockets.get(cpu.index()).copied().flatten();
    let spans = |task: &&TaskPlan| {
        let first = task.cpus.lowest().and_then(of);
        task.cpus.iter().any(|cpu| of(cpu) != first)
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
