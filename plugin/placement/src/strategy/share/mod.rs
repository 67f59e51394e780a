//! `--binding=auto`: each task gets an even share of what the step owns and others have not taken.
//! In: the situation, the words behind `auto`. Out: a plan, a note, or a refusal. Pure.
//!
//! Each core goes to one task while there are as many cores as tasks; then tasks share cores by
//! hardware threads, and then by time.

mod free;
mod split;

use std::ops::Range;

use crate::answer::cores::Chosen;
use crate::answer::decision::{Rule, SharedOut, Unit};
use crate::answer::note::Note;
use crate::answer::plan::{Plan, TaskPlan};
use crate::answer::refusal::Refusal;
use crate::request::grid_engine::{Binding, Instance, Share, Strategy};
use crate::request::near::Near;
use crate::sets::text::{counted, repeated};
use crate::strategy::near::{Amount, Failure, Need, narrow};
use crate::strategy::share::free::{Free, Obstacle};
use crate::strategy::situation::{Situation, in_cpus};

/// A share for each task, or a note that there is none; beside a `--near` a share of the cores next to
/// each task's devices.
pub(crate) fn choose(
    here: &Situation<'_>,
    requested: (&Binding, Share),
    near: Option<&Near>,
) -> Result<Plan, Refusal> {
    let (binding, share) = requested;
    let Some(near) = near else {
        here.owns_any()?;
        let plan = bound(here, requested);
        return match plan {
            Ok(plan) => Ok(to_instance(here, binding, plan)),
            Err(obstacle) => here.binding_failed(binding, why(here, requested, None, &obstacle)),
        };
    };
    let limit = threads(here, share);
    let each = here.threads_each(limit);
    let need = Need {
        threads_per_core: limit,
        each,
        at_last: Amount::Threads(each),
        least: Some(each),
    };
    let plan = narrow(here, near, need, |inside, _| {
        let told = |obstacle| Failure::NotServed(why(inside, requested, Some(near), &obstacle));
        bound(inside, requested).map_err(told)
    });
    Ok(to_instance(here, binding, plan?))
}

/// The most hardware threads of a core to use.
fn threads(here: &Situation<'_>, share: Share) -> Option<u32> {
    share.smt.or_else(|| here.threads_of_bound_core())
}

fn unit(free: &Free, tasks: usize) -> Unit {
    match tasks {
        few if few <= free.core_count() => Unit::Cores,
        some if some <= free.thread_count() => Unit::Threads,
        _ => Unit::Time,
    }
}

/// Every task's cores.
fn shares(here: &Situation<'_>, share: Share, free: &Free) -> Result<Chosen, Obstacle> {
    if free.core_count() == 0 {
        return Err(Obstacle::NothingFree);
    }
    let tasks = here.request.tasks as usize;
    let each = here.threads_each(threads(here, share)) as usize;
    if unit(free, tasks) == Unit::Cores {
        let runs = match (share.pack, each) {
            // Each has one core, whatever objects there are.
            (_, 0 | 1) if tasks == free.core_count() => (0..tasks).map(|at| at..at + 1).collect(),
            (true, 2..) => free::packed(free, tasks, each)?,
            _ => free::from_beginning(free, free.row_of_cores().split(tasks), each)?,
        };
        return Ok(Chosen::new(
            runs.into_iter().map(|run| free.cores(here, run)),
        ));
    }
    let parts = free.row_of_threads().split(tasks);
    let smallest = parts.iter().map(Range::len).min().unwrap_or(0);
    if each > 1 && smallest < each {
        return Err(free::too_small(free, smallest));
    }
    let some = |part: &Range<usize>| {
        let end = match each {
            0 | 1 => part.end,
            each => part.end.min(part.start + each),
        };
        free.threads(here, part.start..end)
    };
    Ok(Chosen::new(parts.iter().map(some)))
}

/// Every task bound to its cores: beside the cores of pools where each task gets cores of its own so, and at least half
/// of its CPUs; the rest would stay idle while the pool sleeps.
fn bound(here: &Situation<'_>, requested: (&Binding, Share)) -> Result<Plan, Obstacle> {
    let limit = threads(here, requested.1);
    let all = Free::of(here, limit);
    let tasks = here.request.tasks as usize;
    let chosen = shares(here, requested.1, &all)?;
    let beside = Free::beside_pools(here, limit);
    let beside = beside.filter(|free| unit(free, tasks) == Unit::Cores);
    let spared = beside.and_then(|free| Some((shares(here, requested.1, &free).ok()?, free)));
    let spared = spared.filter(|(spared, _)| keeps_half(spared, &chosen, tasks));
    let count = all.core_count();
    let (chosen, free) = spared.unwrap_or((chosen, all));
    let left_out = count - free.core_count();
    Ok(on(here, requested.0, (chosen, &free, left_out as u32)))
}

/// Whether each task has at least half of the CPUs that it would have among all.
fn keeps_half(spared: &Chosen, among_all: &Chosen, tasks: usize) -> bool {
    let count = |chosen: &Chosen, id| chosen.cpus_of_task(id).count();
    (0..tasks).all(|id| count(spared, id) * 2 >= count(among_all, id))
}

fn on(
    here: &Situation<'_>,
    binding: &Binding,
    (chosen, free, left_out): (Chosen, &Free, u32),
) -> Plan {
    let tasks = here.request.tasks;
    let out = SharedOut {
        unit: unit(free, tasks as usize),
        cores: free.core_count() as u32,
        threads: free.thread_count() as u32,
        left_out,
    };
    let task = |id| TaskPlan::on(chosen.cpus_of_task(id));
    let cpus = (0..tasks as usize).map(task).collect();
    let mut plan = here.each(cpus, Rule::Share(binding.clone(), out));
    if out.unit == Unit::Time {
        let threads = out.threads;
        plan.notes.push(Note::SharedByTime { tasks, threads });
    }
    if let Strategy::Auto(Share {
        smt: Some(requested),
        ..
    }) = binding.strategy
    {
        let cores = here.node.table().cores.iter();
        let most = cores.map(|core| core.len() as u32).max().unwrap_or(1);
        let less = requested > most;
        let note = less.then_some(Note::FewerThreads { requested, most });
        plan.notes.extend(note);
    }
    plan.chosen = Some(chosen);
    plan
}

/// With `env:` the job binds itself to the cores that its environment names.
fn to_instance(here: &Situation<'_>, binding: &Binding, plan: Plan) -> Plan {
    if binding.instance == Instance::Set || plan.chosen.is_none() {
        return plan;
    }
    let unbound = here.all_to_all(plan.decision.rule.clone());
    Plan {
        tasks: unbound.tasks,
        message: unbound.message,
        ..plan
    }
}

/// Why a share cannot be had.
fn why(
    here: &Situation<'_>,
    (binding, share): (&Binding, Share),
    near: Option<&Near>,
    obstacle: &Obstacle,
) -> String {
    let (tasks, each) = (here.request.tasks, here.request.cpus_per_task);
    let needed = here.threads_each(threads(here, share));
    let cpus = |threads: &usize| in_cpus(*threads as u32, (each, needed));
    let found = match obstacle {
        Obstacle::NothingFree => {
            "other steps are bound to all cores of this step on this node".into()
        }
        Obstacle::TooSmall {
            smallest,
            cores,
            threads,
        } => format!(
            "the step has {} with {} to use {}, and the smallest share has {}; use fewer tasks or a smaller -c",
            counted(*cores as u32, "free core"),
            counted(cpus(threads), "CPU"),
            near.map_or("on this node", |_| "there"),
            cpus(smallest)
        ),
    };
    let requested = match each {
        0 | 1 => format!("cores for {}", counted(tasks, "task")),
        _ => format!("{} × {each} CPUs", counted(tasks, "task")),
    };
    let binding = repeated(binding);
    match near {
        None => format!("--binding={binding} asks for {requested}; {found}"),
        Some(near) => format!(
            "--binding={binding} with --near={} asks for {requested} next to the same devices; {found}",
            repeated(near)
        ),
    }
}
