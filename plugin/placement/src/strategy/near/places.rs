//! How near each usable core is to each task's devices, in rings: next to a device (ring 0), then the
//! next larger object around its place, and so on outward.
//! In: the situation, each task's devices. Out: the usable cores, and tasks grouped by their rings.
//! Pure.

use std::ops::Range;

use crate::request::Request;
use crate::sets::cpuset::CpuSet;
use crate::sets::ids::{CpuId, PuIdx};
use crate::strategy::near::devices::Devices;
use crate::strategy::situation::Situation;
use crate::topology::machine::Machine;
use crate::topology::surroundings::Surroundings;

/// The usable cores: each one's hardware threads that tasks may use, in order; there is at least one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cores {
    /// One core's after the other's.
    pus: Vec<PuIdx>,
    /// Where each core's end.
    ends: Vec<usize>,
}

impl Cores {
    /// Adds a core, unless it has no hardware thread.
    pub(super) fn push(&mut self, pus: impl Iterator<Item = PuIdx>) {
        let before = self.pus.len();
        self.pus.extend(pus);
        if self.pus.len() > before {
            self.ends.push(self.pus.len());
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The hardware threads of all of them.
    pub(super) fn pus(&self) -> &[PuIdx] {
        &self.pus
    }

    /// Where the core of a hardware thread ends, both by their positions.
    pub(super) fn end_around(&self, pu: usize) -> usize {
        let core = self.ends.partition_point(|end| *end <= pu);
        self.ends.get(core).copied().unwrap_or(pu)
    }

    /// The positions of the hardware threads of some successive cores.
    pub(super) fn range(&self, cores: Range<usize>) -> Range<usize> {
        let before = |core: usize| core.checked_sub(1).map_or(0, |last| self.ends[last]);
        before(cores.start)..before(cores.end)
    }

    /// The hardware threads of a core.
    pub(super) fn of(&self, core: usize) -> &[PuIdx] {
        &self.pus[self.range(core..core + 1)]
    }
}

/// Tasks whose devices have the same place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    /// Local ids, ascending.
    pub(super) tasks: Vec<u32>,
    /// The ring of each usable core.
    pub(super) rings: Vec<u32>,
}

/// The cores that tasks may get: those of the step that nobody else has, whole, without isolated CPUs.
/// If there is none, isolated ones too; if there is none then, those of the step. Each has at most
/// `limit` hardware threads.
pub(super) fn cores(here: &Situation<'_>, limit: Option<u32>) -> Cores {
    let Request { reserved, .. } = here.request;
    let table = here.node.table();
    let mut others = reserved.clone();
    others.insert_all(&here.claims.taken);
    let is_of_others = |pu: &PuIdx| table.cpu(*pu).is_some_and(|cpu| others.contains(cpu));
    let limit = limit.unwrap_or(u32::MAX) as usize;
    let isolated = here.node.machine().map(|machine| machine.isolated());
    let isolated = isolated.filter(|isolated| !isolated.is_empty());
    let is_isolated = |pu: &PuIdx| {
        isolated.is_some_and(|set| table.cpu(*pu).is_some_and(|cpu| set.contains(cpu)))
    };
    let usable = |(of_others, of_isolated): (bool, bool)| {
        let is_kept = |pus: &&[PuIdx]| of_others || !pus.iter().any(is_of_others);
        let mut cores = Cores::default();
        for pus in table.cores.iter().filter(is_kept) {
            let pus = here.owned.among(pus);
            let pus = pus.filter(|pu| of_isolated || !is_isolated(pu));
            cores.push(pus.take(limit));
        }
        cores
    };
    let choices = [(false, false), (false, true), (true, true)];
    let mut found = choices.into_iter().map(usable);
    found.find(|cores| !cores.is_empty()).unwrap_or_default()
}

/// Tasks by the place of their devices.
pub(super) fn groups(
    here: &Situation<'_>,
    (machine, on): (&Machine, &Surroundings),
    devices: &Devices,
    cores: &Cores,
) -> Vec<Group> {
    // Objects have whole cores, so one hardware thread tells for all.
    let first = |core: usize| here.node.table().cpu(*cores.of(core).first()?);
    let nowhere = CpuId(u32::MAX);
    let first: Vec<_> = (0..cores.len())
        .map(|core| first(core).unwrap_or(nowhere))
        .collect();
    let mut groups: Vec<Group> = Vec::new();
    let mut group_of = Vec::with_capacity(devices.parts.len());
    for part in &devices.parts {
        let own = part
            .iter()
            .map(|at| local(machine, devices.visible[*at as usize]));
        let own: Vec<CpuSet> = own.collect();
        let chains: Vec<_> = own.iter().map(|place| on.around(place)).collect();
        let farthest = chains.iter().map(Vec::len).max().unwrap_or(0);
        let mut rings = vec![farthest as u32; first.len()];
        for chain in &chains {
            for (ring, cpu) in rings.iter_mut().zip(&first) {
                let beyond = chain.iter().take_while(|place| !place.contains(*cpu));
                *ring = (*ring).min(beyond.count() as u32);
            }
        }
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
