//! The step's devices and usable cores, its tasks by the place of their devices, and how far the CPUs that each task
//! got are from them. In: the situation, the request. Out: [`Neighbours`], or a plan that binds nothing; distances,
//! notes to the user, and why a strict `--near` is refused. Pure.

use crate::answer::near::{Distance, NearNote, NearRefusal, NearTask, Nearby};
use crate::answer::note::Note;
use crate::answer::plan::{Plan, TaskPlan};
use crate::answer::refusal::Refusal;
use crate::request::near::{Near, What};
use crate::sets::cpuset::CpuSet;
use crate::strategy::near::devices::{self, Devices};
use crate::strategy::near::places::{Cores, Places};
use crate::strategy::situation::{Situation, first_short, in_cpus};
use crate::topology::machine::Machine;
use crate::topology::objects::ObjectKind;
use crate::topology::surroundings::Surroundings;

/// The step's devices and usable cores, and its tasks by the place of their devices.
pub(super) struct Neighbours<'a> {
    on: &'a Surroundings,
    devices: Devices,
    pub(super) places: Places,
}

impl<'a> Neighbours<'a> {
    /// At most `limit` hardware threads of each core are used.
    pub(super) fn of(
        here: &Situation<'a>,
        near: &Near,
        limit: Option<u32>,
    ) -> Result<Self, NearRefusal> {
        let node = here.node;
        let Some((machine, on)) = node.machine().zip(node.surroundings()) else {
            return Err(NearRefusal::Unknown(near.clone()));
        };
        let request = here.request;
        let devices = devices::of(near, request.gres.as_ref(), request.tasks, machine)?;
        let places = Places::of(here, on, &devices, limit);
        Ok(Self {
            on,
            devices,
            places,
        })
    }

    /// The plan with each task's devices, and with what the user should know of them; also of tasks with fewer
    /// hardware threads than `least`, unless the plan's own notes do.
    pub(super) fn finish(
        self,
        here: &Situation<'_>,
        near: &Near,
        mut plan: Plan,
        least: Option<u32>,
    ) -> Result<Plan, Refusal> {
        let next_to = NextTo::of(self.on, &self.devices);
        let on_devices = on_devices(here, near, &self.devices);
        let nearby = next_to.measured(here.node.machine(), self.devices, &plan.tasks);
        let found = (&nearby, &next_to);
        let has = (&plan, &self.places.cores, least);
        let notes = notes_of(here, near, found, has)?;
        let on_devices = on_devices.into_iter().map(Note::Near);
        plan.notes.extend(on_devices.chain(notes));
        plan.near = Some(nearby);
        Ok(plan)
    }
}

/// There are no such devices, or too few: the step is refused or runs unbound, as with a `--binding`
/// that cannot be served.
pub(super) fn failed(here: &Situation<'_>, near: &Near, why: NearRefusal) -> Result<Plan, Refusal> {
    match near.strict {
        true => Err(why.into()),
        false => here.wish_failed(why.to_string()),
    }
}

/// The CPUs next to each part's devices.
struct NextTo<'a> {
    of_part: Vec<CpuSet>,
    /// Whether one of the part's devices has no place of its own on a machine of several packages.
    unknown: Vec<bool>,
    /// The objects around each part's devices, from narrow to wide.
    around: Vec<Vec<&'a (ObjectKind, CpuSet)>>,
}

impl<'a> NextTo<'a> {
    fn of(on: &'a Surroundings, devices: &Devices) -> Self {
        let mut next_to = Self {
            of_part: Vec::with_capacity(devices.parts.len()),
            unknown: Vec::with_capacity(devices.parts.len()),
            around: Vec::with_capacity(devices.parts.len()),
        };
        for part in &devices.parts {
            let own = part.iter().map(|at| devices.visible[*at as usize]);
            let own: Vec<_> = own.filter_map(|device| on.neighbourhood(device)).collect();
            let mut cpus = CpuSet::new();
            own.iter().for_each(|one| cpus.insert_all(&one.cpus));
            next_to.of_part.push(cpus);
            next_to.unknown.push(own.iter().any(|one| one.is_unknown));
            next_to.around.push(on.that_have(&own));
        }
        next_to
    }

    fn measured(&self, machine: Option<&Machine>, devices: Devices, tasks: &[TaskPlan]) -> Nearby {
        let vendor = |at: &u32| {
            let device = machine.and_then(|machine| machine.devices().get(*at as usize));
            let pci = device.and_then(|device| device.pci);
            pci.unwrap_or_default().vendor
        };
        let task = |(part, task): (&u32, &TaskPlan)| NearTask {
            part: *part,
            distance: match self.unknown[*part as usize] {
                true => Distance::Unknown,
                false => Distance::within(&task.cpus, &self.around[*part as usize]),
            },
        };
        Nearby {
            tasks: devices.part_of.iter().zip(tasks).map(task).collect(),
            vendors: devices.visible.iter().map(vendor).collect(),
            visible: devices.visible,
            parts: devices.parts,
        }
    }

    /// The first task that has CPUs elsewhere, and how many there are.
    fn elsewhere(&self, nearby: &Nearby, tasks: &[TaskPlan]) -> Option<(u32, u32)> {
        let is_near = |(near, task): (&NearTask, &TaskPlan)| {
            task.cpus.is_subset(&self.of_part[near.part as usize])
        };
        let both = nearby.tasks.iter().zip(tasks);
        let mut far = (0..).zip(both).filter(|(_, both)| !is_near(*both));
        let (first, _) = far.next()?;
        Some((first, 1 + far.count() as u32))
    }
}

/// The notes; a strict request that cannot be kept is refused.
fn notes_of(
    here: &Situation<'_>,
    near: &Near,
    (nearby, next_to): (&Nearby, &NextTo<'_>),
    (plan, cores, least): (&Plan, &Cores, Option<u32>),
) -> Result<Vec<Note>, Refusal> {
    let tasks = &plan.tasks;
    let mut notes = Vec::new();
    let elsewhere = next_to.elsewhere(nearby, tasks);
    let misfit = elsewhere.map(|(task, _)| task).or_else(|| {
        let (task, _) = first_short(tasks, least?)?;
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
fn on_devices(here: &Situation<'_>, near: &Near, devices: &Devices) -> Vec<NearNote> {
    let requested = || near.to_string();
    let is_lost = near.own && near.what != What::Gpu;
    let own = is_lost.then(|| NearNote::OwnOfOthers(requested()));
    let differ = devices
        .disagree
        .map(|(slurms, found)| NearNote::DevicesDiffer {
            near: requested(),
            slurms,
            found,
        });
    let shared = devices.shared.map(|(each, found)| NearNote::DevicesShared {
        near: requested(),
        tasks: here.request.tasks,
        each,
        found,
    });
    let fewer = devices.fewer.map(|(task, bound)| NearNote::FewerBound {
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
    let (task, given) = first_short(tasks, least)?;
    let given = in_cpus(given, (requested, least));
    Some(Note::TaskShort {
        task,
        requested,
        given,
    })
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
