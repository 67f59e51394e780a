//! `--binding=auto`: each task gets an even share of what the step owns and others have not taken.
//! In: the situation, the words behind `auto`. Out: a plan, a note, or a refusal. Pure.
//!
//! Each core goes to one task while there are as many cores as tasks; then tasks share cores by
//! hardware threads, and then by time.

mod free;
mod runs;
mod split;
mod take;

use std::ops::Range;

use crate::answer::cores::Chosen;
use crate::answer::decision::{Rule, SharedOut, Unit};
use crate::answer::note::Note;
use crate::answer::plan::{Plan, TaskPlan};
use crate::answer::refusal::Refusal;
use crate::request::grid_engine::{Binding, Instance};
use crate::request::share::Share;
use crate::sets::bounded::repeated;
use crate::strategy::share::free::Free;
use crate::strategy::share::take::Obstacle;
use crate::strategy::situation::Situation;

/// A share for each task, or a note that there is none.
pub(crate) fn choose(
    here: &Situation<'_>,
    binding: &Binding,
    share: Share,
) -> Result<Plan, Refusal> {
    here.owns_any()?;
    let limit = share.smt.or_else(|| here.threads_per_core());
    let free = Free::of(here, limit);
    match shares(here, share, &free) {
        Ok(found) => Ok(bound(here, binding, &free, found)),
        Err(obstacle) => not_bound(here, binding, &free, &obstacle),
    }
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
    let each = here.request.cpus_per_task as usize;
    if unit(free, tasks) == Unit::Cores {
        let runs = match (share.pack, each) {
            // Each has one core, whatever objects there are.
            (_, 0 | 1) if tasks == free.core_count() => (0..tasks).map(|at| at..at + 1).collect(),
            (true, 2..) => take::packed(free, tasks, each)?,
            _ => take::from_beginning(free, free.row_of_cores().split(tasks), each)?,
        };
        return Ok(Chosen::new(
            runs.into_iter().map(|run| free.cores(here, run)),
        ));
    }
    let parts = free.row_of_threads().split(tasks);
    let smallest = parts.iter().map(Range::len).min().unwrap_or(0);
    if each > 1 && smallest < each {
        return Err(Obstacle::TooSmall(smallest));
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

fn bound(here: &Situation<'_>, binding: &Binding, free: &Free, chosen: Chosen) -> Plan {
    let tasks = here.request.tasks;
    let unit = unit(free, tasks as usize);
    let rule = Rule::Share(
        binding.clone(),
        SharedOut {
            unit,
            cores: free.core_count() as u32,
            threads: free.thread_count() as u32,
        },
    );
    let mut plan = match binding.instance {
        Instance::Set => {
            let task = |id| TaskPlan::on(chosen.cpus_of_task(id));
            here.each((0..tasks as usize).map(task).collect(), rule)
        }
        // The job binds itself to the cores that its environment names.
        Instance::Env | Instance::Pe => here.all_to_all(rule),
    };
    if unit == Unit::Time {
        plan.notes.push(Note::SharedByTime {
            tasks,
            threads: free.thread_count() as u32,
        });
    }
    plan.chosen = Some(chosen);
    plan
}

fn not_bound(
    here: &Situation<'_>,
    binding: &Binding,
    free: &Free,
    obstacle: &Obstacle,
) -> Result<Plan, Refusal> {
    let (tasks, each) = (here.request.tasks, here.request.cpus_per_task);
    let found = match obstacle {
        Obstacle::NothingFree => {
            "other steps are bound to all cores of this step on this node".into()
        }
        Obstacle::TooSmall(share) => format!(
            "the step has {} free cores with {} CPUs to use on this node, and the smallest share has \
             {share}; use fewer tasks or a smaller -c",
            free.core_count(),
            free.thread_count()
        ),
    };
    let asked = match each {
        0 | 1 => format!("cores for {tasks} tasks"),
        _ => format!("{tasks} tasks × {each} CPUs"),
    };
    let text = format!("--binding={} asks for {asked}; {found}", repeated(binding));
    here.binding_failed(binding, text)
}
