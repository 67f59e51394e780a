//! The CPUs next to each task's devices, and how far the CPUs that it got are from them.
//! In: the devices, each task's CPUs. Out: distances, and the tasks that are elsewhere. Pure.

use crate::answer::near::{Distance, NearTask, Nearby};
use crate::answer::plan::TaskPlan;
use crate::sets::cpuset::CpuSet;
use crate::strategy::near::devices::Devices;
use crate::topology::machine::Machine;
use crate::topology::object::ObjectKind;
use crate::topology::surroundings::Surroundings;

/// The CPUs next to each part's devices.
pub(super) struct NextTo<'a> {
    pub(super) of_part: Vec<CpuSet>,
    /// Whether one of the part's devices has no place of its own on a machine of several packages.
    unknown: Vec<bool>,
    /// The objects around each part's devices, from narrow to wide.
    around: Vec<Vec<&'a (ObjectKind, CpuSet)>>,
    /// Devices that Slurm counts on the node, and those that were found, if they differ.
    pub(super) disagree: Option<(u32, u32)>,
    /// As in [`Devices`].
    pub(super) fewer: Option<(u32, u32)>,
    /// As in [`Devices`].
    pub(super) shared: Option<(u32, u32)>,
}

impl<'a> NextTo<'a> {
    pub(super) fn of(on: &'a Surroundings, devices: &Devices) -> Self {
        let mut next_to = Self {
            of_part: Vec::with_capacity(devices.parts.len()),
            unknown: Vec::with_capacity(devices.parts.len()),
            around: Vec::with_capacity(devices.parts.len()),
            disagree: devices.disagree,
            fewer: devices.fewer,
            shared: devices.shared,
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

    pub(super) fn measured(
        &self,
        machine: Option<&Machine>,
        devices: Devices,
        tasks: &[TaskPlan],
    ) -> Nearby {
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
    pub(super) fn elsewhere(&self, nearby: &Nearby, tasks: &[TaskPlan]) -> Option<(u32, u32)> {
        let is_near = |(near, task): (&NearTask, &TaskPlan)| {
            task.cpus.is_subset(&self.of_part[near.part as usize])
        };
        let both = nearby.tasks.iter().zip(tasks);
        let mut far = (0..).zip(both).filter(|(_, both)| !is_near(*both));
        let (first, _) = far.next()?;
        Some((first, 1 + far.count() as u32))
    }
}
