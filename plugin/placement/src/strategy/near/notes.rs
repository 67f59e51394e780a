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
use crate::strategy::situation::Situation;
use crate::topology::machine::Machine;

/// The notes; a strict request that cannot be kept is refused.
pub(super) fn of(
    here: &Situation<'_>,
    near: &Near,
    (nearby, next_to): (&Nearby, &NextTo<'_>),
    plan: &Plan,
    cores: &Cores,
) -> Result<Vec<Note>, Refusal> {
    let tasks = &plan.tasks;
    let mut notes = Vec::new();
    let asked = near.to_string();
    if near.own && near.what != What::Gpu {
        notes.push(NearNote::OwnOfOthers(asked.clone()));
    }
    if let Some((slurms, found)) = next_to.disagree {
        let near = asked.clone();
        notes.push(NearNote::DevicesDiffer {
            near,
            slurms,
            found,
        });
    }
    if let Some((task, bound)) = next_to.fewer {
        let near = asked.clone();
        notes.push(NearNote::FewerBound { near, task, bound });
    }
    let elsewhere = next_to.elsewhere(nearby, tasks);
    let misfit = elsewhere.map(|(task, _)| task).or_else(|| {
        let (task, _) = short(here, tasks)?;
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
            near: asked,
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
    let too_few = too_few(here, tasks, cores).filter(|_| !plan.notes.iter().any(is_said));
    Ok(notes.into_iter().map(Note::Near).chain(too_few).collect())
}

/// Whether tasks share CPUs, or one has fewer than `-c`.
fn too_few(here: &Situation<'_>, tasks: &[TaskPlan], cores: &Cores) -> Option<Note> {
    let (asked, count) = (here.request.cpus_per_task, here.request.tasks);
    let own = cores.pus().len() as u32;
    if own < count {
        return Some(Note::MoreTasksThanCpus { tasks: count, own });
    }
    let (task, given) = short(here, tasks)?;
    Some(Note::TaskShort { task, asked, given })
}

/// The first task with fewer CPUs than `-c`, and how many it has.
fn short(here: &Situation<'_>, tasks: &[TaskPlan]) -> Option<(u32, u32)> {
    let given = tasks.iter().map(|task| task.cpus.count() as u32);
    let mut all = (0..).zip(given);
    all.find(|(_, given)| *given < here.request.cpus_per_task)
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
