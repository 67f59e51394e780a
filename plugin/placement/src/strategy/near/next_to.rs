//! The CPUs next to each task's devices, and how far the CPUs that it got are from them.
//! In: the devices, each task's CPUs. Out: distances, and the tasks that are elsewhere. Pure.

use crate::answer::near::{Distance, NearTask, Nearby};
use crate::answer::plan::TaskPlan;
use crate::sets::cpuset::CpuSet;
use crate::strategy::near::devices::Devices;
use crate::strategy::near::places;
use crate::topology::machine::Machine;
use crate::topology::surroundings::Surroundings;

/// The CPUs next to each part's devices.
pub(super) struct NextTo {
    pub(super) of_part: Vec<CpuSet>,
    /// Whether one of the part's devices has no place of its own on a machine of several packages.
    unknown: Vec<bool>,
    /// Devices that Slurm counts on the node, and those that were found, if they differ.
    pub(super) disagree: Option<(u32, u32)>,
}

impl NextTo {
    pub(super) fn of(machine: &Machine, on: &Surroundings, devices: &Devices) -> Self {
        let place = |part: &Vec<u32>| {
            let mut cpus = CpuSet::new();
            for at in part {
                cpus.insert_all(&places::local(machine, devices.visible[*at as usize]));
            }
            cpus
        };
        let nowhere = |at: &u32| {
            let place = places::local(machine, devices.visible[*at as usize]);
            on.several_packages && machine.cpus().is_subset(&place)
        };
        Self {
            unknown: devices
                .parts
                .iter()
                .map(|part| part.iter().any(nowhere))
                .collect(),
            of_part: devices.parts.iter().map(place).collect(),
            disagree: devices.disagree,
        }
    }

    pub(super) fn measured(
        &self,
        (machine, on): (&Machine, &Surroundings),
        devices: Devices,
        tasks: &[TaskPlan],
    ) -> Nearby {
        let vendor = |at: &u32| {
            let device = machine.devices().get(*at as usize);
            device
                .and_then(|device| device.pci)
                .unwrap_or_default()
                .vendor
        };
        let around = self.of_part.iter().map(|place| on.that_have(place));
        let around: Vec<Vec<_>> = around.map(Iterator::collect).collect();
        let task = |(part, task): (&u32, &TaskPlan)| NearTask {
            part: *part,
            distance: match self.unknown[*part as usize] {
                true => Distance::Unknown,
                false => Distance::within(&task.cpus, &around[*part as usize]),
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
