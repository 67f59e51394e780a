//! How near each usable core is to each task's devices, in rings: next to a device (ring 0), then the
//! next larger object around its place, and so on outward.
//! In: the situation, each task's devices. Out: the usable cores, and tasks grouped by their rings.
//! Pure.

use crate::request::Request;
use crate::sets::cpuset::CpuSet;
use crate::sets::ids::PuIdx;
use crate::strategy::near::devices::Devices;
use crate::strategy::situation::Situation;
use crate::topology::machine::Machine;
use crate::topology::surroundings::Surroundings;

/// A core's hardware threads that tasks may use, in order; there is at least one.
pub(super) type Core = Vec<PuIdx>;

/// Tasks whose devices have the same place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    /// Local ids, ascending.
    pub(super) tasks: Vec<u32>,
    /// The ring of each usable core.
    pub(super) rings: Vec<u32>,
}

/// The cores that tasks may get: those of the step that nobody else has, whole. If there is none,
/// those of the step.
pub(super) fn cores(here: &Situation<'_>) -> Vec<Core> {
    let Request { reserved, .. } = here.request;
    let table = here.node.table();
    let limit = here.threads_per_core().unwrap_or(u32::MAX) as usize;
    let usable = |pus: &[PuIdx]| here.owned.among(pus).take(limit).collect::<Core>();
    let all = || table.cores.iter().map(|pus| (pus, usable(pus)));
    let of_others = |pus: &[PuIdx]| {
        let cpus = table.cpus(pus.iter().copied());
        cpus.intersects(reserved) || cpus.intersects(&here.claims.taken)
    };
    let free = all().filter(|(pus, own)| !own.is_empty() && !of_others(pus));
    let free: Vec<_> = free.map(|(_, own)| own).collect();
    match free.is_empty() {
        true => all()
            .map(|(_, own)| own)
            .filter(|own| !own.is_empty())
            .collect(),
        false => free,
    }
}

/// Tasks by the place of their devices.
pub(super) fn groups(
    here: &Situation<'_>,
    (machine, on): (&Machine, &Surroundings),
    devices: &Devices,
    cores: &[Core],
) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut group_of = Vec::with_capacity(devices.parts.len());
    for part in &devices.parts {
        let own = part
            .iter()
            .map(|at| local(machine, devices.visible[*at as usize]));
        let own: Vec<CpuSet> = own.collect();
        let chains: Vec<_> = own.iter().map(|place| on.around(place)).collect();
        let ring = |core: &Core| {
            let cpu = core.first().and_then(|pu| here.node.table().cpu(*pu));
            let within = |chain: &Vec<&CpuSet>| {
                let inside = |set: &&CpuSet| cpu.is_some_and(|cpu| set.contains(cpu));
                chain.iter().position(inside).unwrap_or(chain.len())
            };
            chains.iter().map(within).min().unwrap_or(0) as u32
        };
        let rings: Vec<_> = cores.iter().map(ring).collect();
        let same = groups.iter().position(|group| group.rings == rings);
        group_of.push(same.unwrap_or(groups.len()));
        if same.is_none() {
            let tasks = Vec::new();
            groups.push(Group { tasks, rings });
        }
    }
    for (task, part) in (0..).zip(&devices.part_of) {
        groups[group_of[*part as usize]].tasks.push(task);
    }
    groups.retain(|group| !group.tasks.is_empty());
    groups
}

/// CPUs next to a device: all of the machine if it has no place of its own.
pub(super) fn local(machine: &Machine, device: u32) -> CpuSet {
    let device = machine.devices().get(device as usize);
    let cpus = device.map(|device| device.cpus.intersection(machine.cpus()));
    let cpus = cpus.filter(|cpus| !cpus.is_empty());
    cpus.unwrap_or_else(|| machine.cpus().clone())
}
