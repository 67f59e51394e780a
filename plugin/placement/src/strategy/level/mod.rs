//! A level, requested or found: tasks are placed on hardware threads in the order of `-m`, and their
//! masks grow to whole objects.
//! In: the situation. Out: a choice, or a refusal. Pure. Source: `lllp_distribution`.

mod counters;
mod notes;
mod place;
mod walk;
mod widen;

use crate::answer::decision::{LevelFrom, Rule};
use crate::answer::plan::{Message, Plan};
use crate::answer::refusal::Refusal;
use crate::owned::Reserved;
use crate::request::CoreSpec;
use crate::request::cpu_bind::Level;
use crate::request::distribution::Order;
use crate::request::fixes::Fix;
use crate::strategy::level::walk::{Placed, Walk};
use crate::strategy::level::widen::Widening;
use crate::strategy::situation::Situation;

/// Plans a requested level.
pub(crate) fn requested(here: &Situation<'_>, level: Level) -> Result<Plan, Refusal> {
    here.may_bind()?;
    by_level(here, level, LevelFrom::Asked)
}

/// Nothing is requested. The level is the one whose whole objects the tasks' CPUs fill exactly, else
/// the site's default (`autobind=`); else every task gets all of the step's CPUs.
pub(crate) fn automatic(here: &Situation<'_>) -> Result<Plan, Refusal> {
    here.may_bind()?;
    let (tried, exact) = fits_exactly(here);
    let site = here.node.rules().autobind;
    let level = exact.map(|level| (level, LevelFrom::Exact));
    let level = level.or(site.map(|level| (level, LevelFrom::Site)));
    let mut plan = match level {
        Some((level, from)) => by_level(here, level, from)?,
        None => crowded(here, here.all_to_all(Rule::NoMatch)),
    };
    plan.decision.tried = tried;
    Ok(plan)
}

/// The levels that do not fit, and the first one that fits.
fn fits_exactly(here: &Situation<'_>) -> (Vec<Level>, Option<Level>) {
    let owned = here.owned.counts;
    let request = here.request;
    let wanted = u64::from(request.tasks) * u64::from(request.cpus_per_task);
    let is = |count: u32| wanted == u64::from(count);
    let special = matches!(request.core_spec, CoreSpec::Threads(count) if count > 0);
    let fills = |whole: u32, part: u32| (is(whole) && part == 0) || (special && is(whole + part));
    let levels = [
        (Level::Sockets, fills(owned.sockets, owned.part_sockets)),
        (Level::Cores, fills(owned.cores, owned.part_cores)),
        (Level::Threads, is(owned.threads)),
    ];
    let tried = levels.iter().take_while(|(_, fits)| !fits);
    let exact = levels.iter().find(|(_, fits)| *fits);
    (
        tried.map(|(level, _)| *level).collect(),
        exact.map(|(level, _)| *level),
    )
}

/// A level, whoever chose it.
pub(crate) fn by_level(
    here: &Situation<'_>,
    level: Level,
    from: LevelFrom,
) -> Result<Plan, Refusal> {
    if level == Level::Ldoms && here.node.ldoms().is_none() {
        return Err(Refusal::DomainsUnknown);
    }
    let rules = here.node.rules();
    let order = here.request.distribution.order(rules.block_by_default);
    let mut walk = walk_of(here, level, order);
    let table = here.node.table();
    let threads = here.node.shape().threads;
    let fit = place::cpus_per_task_that_fit(&walk, threads, table, here.owned);
    let placed = fit.and_then(|fit| {
        walk.cpus_per_task = fit;
        place::place(&walk, table, here.owned, thread_chunk(here, &walk))
    });
    match placed {
        Ok(placed) => Ok(bound(here, &placed, &walk, from)),
        Err(_) if here.request.overcommit => Ok(overcommitted(here, &walk)),
        // Slurm has granted CPUs that the step's cgroup lacks.
        Err(_) if here.owned.is_cut => Ok(crowded(here, here.all_to_all(Rule::CgroupTooSmall))),
        Err(_) if here.owned.reserved == Reserved::Some => Ok(here.too_many_reserved()),
        Err(why) => Err(here.no_place(why)),
    }
}

fn walk_of(here: &Situation<'_>, level: Level, order: Order) -> Walk {
    let request = here.request;
    // A credential gives whole cores; only lists of CPUs split them.
    let parted = here.owned.counts.part_cores > 0 && !request.core_spec.is_given();
    let uneven = here.node.table().even().is_none() || (parted && here.has(Fix::CoreThreads));
    Walk {
        tasks: request.tasks,
        cpus_per_task: request.cpus_per_task.max(1),
        threads_per_core: here.threads_per_core(),
        ntasks_per_core: request.ntasks_per_core,
        ntasks_per_socket: request.ntasks_per_socket,
        level,
        order,
        shares_wide_cores_first: level == Level::Cores && uneven,
        fixes: here.node.rules().fixes,
    }
}

/// How many hardware threads of a core a task takes before the next core's
/// turn, if the third level of `-m` does not fill cores. Tasks
/// that get whole cores have no threads to order.
fn thread_chunk(here: &Situation<'_>, walk: &Walk) -> Option<u32> {
    if !here.has(Fix::ThirdLevel) || walk.gets_whole_cores(false) {
        return None;
    }
    match here.request.distribution.cores? {
        Order::Block => None,
        Order::Cyclic => Some(walk.cpus_per_task),
        Order::Fcyclic => Some(1),
    }
}

fn bound(here: &Situation<'_>, placed: &Placed, walk: &Walk, from: LevelFrom) -> Plan {
    let (level, order) = (walk.level, walk.order);
    let rule = Rule::Level { level, order, from };
    let tasks = Widening::to(level, here.node, here.owned).tasks(placed);
    let mut notes = notes::of(here, placed, walk, &tasks);
    notes.extend(notes::piled(here, placed, walk, from));
    let mut plan = here.each(tasks, rule);
    plan.notes = notes;
    plan.decision.cpus_per_task = walk.cpus_per_task;
    plan
}

fn overcommitted(here: &Situation<'_>, walk: &Walk) -> Plan {
    let mut plan = crowded(here, here.all_to_all(Rule::Overcommit));
    if let Message::Shared { keep_level, .. } = &mut plan.message {
        *keep_level = (!here.has(Fix::CleanType)).then_some(walk.level);
    }
    plan.decision.cpus_per_task = walk.cpus_per_task;
    plan
}

/// Adds a note if all of the step's CPUs are fewer than one task requests, or fewer than the
/// tasks.
fn crowded(here: &Situation<'_>, mut plan: Plan) -> Plan {
    plan.notes.extend(notes::of_all(here));
    plan
}
