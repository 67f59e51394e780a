//! What the user of a `--near` should know, and why a strict one is refused.
//! In: the devices, each task's CPUs. Out: notes, or a refusal. Pure.

use crate::answer::near::{Distance, Nearby};
use crate::answer::near_note::NearNote;
use crate::answer::near_refusal::NearRefusal;
use crate::answer::note::Note;
use crate::answer::plan::{Plan, TaskPlan};
use crate::answer::refusal::Refusal;
use crate::request::near::{Near, What};
use crate::strategy::near::next_to::NextTo;
use crate::strategy::near::places::Cores;
use crate::strategy::situation::{Situation, in_cpus};
use crate::topology::machine::Machine;

/// The notes; a strict request that cannot be kept is refused.
pub(super) fn of(
    here: &Situation<'_>,
    near: &Near,
    (nearby, next_to): (&Nearby, &NextTo<'_>),
    (plan, cores, least): (&Plan, &Cores, Option<u32>),
) -> Result<Vec<Note>, Refusal> {
    let tasks = &plan.tasks;
    let mut notes = on_devices(here, near, next_to);
    let elsewhere = next_to.elsewhere(nearby, tasks);
    let misfit = elsewhere.map(|(task, _)| task).or_else(|| {
        let (task, _) = short(tasks, least?)?;
        Some(task)
    });
    if let Some(task) = misfit.filter(|_| near.strict) {
        let part = nearby.tasks[task as usize].part as usize;
        let usable = here.node.table().cpus_of(cores.pus());
        return Err(Refusal::Near(NearRefusal::TooSmall {
            near: near.clone(),
            task,
            devices: named(here, nearby, task as usize),
            near_cpus: usable.intersection(&next_to.of_part[part]).count() as u32,
        }));
    }
    if let Some((task, count)) = elsewhere {
        let of = named(here, nearby, task as usize);
        notes.push(NearNote::NotNear {
            near: near.to_string(),
            task,
            count,
            of,
        });
    }
    let mut places = nearby.tasks.iter().map(|task| task.distance);
    if let Some(task) = places.position(|distance| distance == Distance::Unknown) {
        notes.push(NearNote::NoPlaceKnown(named(here, nearby, task)));
    }
    let is_said = |note: &Note| matches!(note, Note::SharedByTime { .. });
    let too_few = least.and_then(|least| too_few(here, tasks, (cores, least)));
    let too_few = too_few.filter(|_| !plan.notes.iter().any(is_said));
    Ok(notes.into_iter().map(Note::Near).chain(too_few).collect())
}

/// The notes on the devices alone.
fn on_devices(here: &Situation<'_>, near: &Near, next_to: &NextTo<'_>) -> Vec<NearNote> {
    let requested = || near.to_string();
    let is_lost = near.own && near.what != What::Gpu;
    let own = is_lost.then(|| NearNote::OwnOfOthers(requested()));
    let differ = next_to
        .disagree
        .map(|(slurms, found)| NearNote::DevicesDiffer {
            near: requested(),
            slurms,
            found,
        });
    let shared = next_to.shared.map(|(each, found)| NearNote::DevicesShared {
        near: requested(),
        tasks: here.request.tasks,
        each,
        found,
    });
    let fewer = next_to.fewer.map(|(task, bound)| NearNote::FewerBound {
        near: requested(),
        task,
        bound,
    });
    [own, differ, shared, fewer].into_iter().flatten().collect()
}

/// Whether tasks share CPUs, or one has fewer than `-c`.
fn too_few(
    here: &Situation<'_>,
    tasks: &[TaskPlan],
    (cores, least): (&Cores, u32),
) -> Option<Note> {
    let (requested, count) = (here.request.cpus_per_task, here.request.tasks);
    let own = cores.pus().len() as u32;
    if own < count {
        return Some(Note::MoreTasksThanCpus { tasks: count, own });
    }
    let (task, given) = short(tasks, least)?;
    let given = in_cpus(given, (requested, least));
    Some(Note::TaskShort {
        task,
        requested,
        given,
    })
}

/// The first task with fewer hardware threads than so many, and how many it has.
fn short(tasks: &[TaskPlan], least: u32) -> Option<(u32, u32)> {
    let given = tasks.iter().map(|task| task.cpus.count() as u32);
    (0..).zip(given).find(|(_, given)| *given < least)
}

/// A task's devices for a text: their names, or their places on the PCI bus.
fn named(here: &Situation<'_>, nearby: &Nearby, task: usize) -> String {
    let machine = here.node.machine();
    let all = machine.map_or(&[][..], Machine::devices);
    let names = nearby.devices(task).take(4);
    let names: Vec<_> = names
        .filter_map(|at| all.get(at as usize))
        .map(|device| device.label())
        .collect();
    names.join(", ")
}
