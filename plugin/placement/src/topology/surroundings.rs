//! The objects that can be around a device or a task, and how near each CPU is to each device: found
//! once for many plans.
//! In: a machine. Out: CPU sets with their kind, from narrow to wide; each device's neighbourhood. Pure.

use std::collections::BTreeMap;

use crate::sets::cpuset::CpuSet;
use crate::sets::ids::CpuId;
use crate::topology::devices::Device;
use crate::topology::machine::Machine;
use crate::topology::objects::ObjectKind;

/// L3 caches, memory domains, dies and packages, and what is next to devices.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// Each object with its kind; the kinds go from narrow to wide.
    objects: Vec<(ObjectKind, CpuSet)>,
    /// Those of all devices, each once.
    neighbourhoods: Vec<Neighbourhood>,
    /// The neighbourhood of each device.
    of_device: Vec<usize>,
    /// The spot of each CPU, by kernel number: CPUs of one spot are in the same objects, and as near
    /// to every device.
    spots: Vec<usize>,
}

/// The cores next to a device, and those around it.
#[derive(Clone, Debug)]
pub(crate) struct Neighbourhood {
    /// CPUs next to the device: all of the machine if it has no place of its own.
    pub(crate) cpus: CpuSet,
    /// Whether the device has no place of its own on a machine of several packages.
    pub(crate) is_unknown: bool,
    /// The objects that have all of it, by their positions.
    objects: Vec<usize>,
    /// The ring of each spot: 0 next to the device, 1 in the next larger object around it, and so on.
    rings: Vec<u32>,
}

/// CPUs that are in no object have it.
const NOWHERE: usize = 0;

impl Surroundings {
    /// Those of a machine.
    #[must_use]
    pub fn of(machine: &Machine) -> Self {
        let kinds = [
            ObjectKind::L3,
            ObjectKind::Numa,
            ObjectKind::Die,
            ObjectKind::Package,
        ];
        let of_kind = |kind| {
            let objects = machine.objects(kind).into_iter();
            objects.map(move |cpus| (kind, cpus))
        };
        let objects: Vec<_> = kinds.into_iter().flat_map(of_kind).collect();
        let of_device: Vec<_> = machine
            .devices()
            .iter()
            .map(|one| next_to(machine, one))
            .collect();
        let mut places = of_device.clone();
        places.sort();
        places.dedup();
        let all = objects.iter().map(|(_, cpus)| cpus).chain(&places);
        let (spots, samples) = spots(all);
        let packages = objects
            .iter()
            .filter(|(kind, _)| *kind == ObjectKind::Package);
        let several_packages = packages.count() > 1;
        let at = |place: &CpuSet| places.partition_point(|one| one < place);
        let of_device = of_device.iter().map(at).collect();
        let neighbourhood = |cpus: CpuSet| Neighbourhood {
            is_unknown: several_packages && machine.cpus().is_subset(&cpus),
            objects: (0..objects.len())
                .filter(|at| cpus.is_subset(&objects[*at].1))
                .collect(),
            rings: rings(&around(&objects, &cpus), &samples),
            cpus,
        };
        Self {
            neighbourhoods: places.into_iter().map(neighbourhood).collect(),
            of_device,
            spots,
            objects,
        }
    }

    /// The objects that have all of some neighbourhoods, from narrow to wide kinds.
    pub(crate) fn that_have(&self, all: &[&Neighbourhood]) -> Vec<&(ObjectKind, CpuSet)> {
        let Some((first, others)) = all.split_first() else {
            return self.objects.iter().collect();
        };
        let objects = first.objects.iter();
        let around = objects.filter(|at| others.iter().all(|one| one.objects.contains(at)));
        around.map(|at| &self.objects[*at]).collect()
    }

    /// The neighbourhood of a device, by its position among the machine's.
    pub(crate) fn neighbourhood(&self, device: u32) -> Option<&Neighbourhood> {
        let at = self.of_device.get(device as usize)?;
        self.neighbourhoods.get(*at)
    }

    /// The spot of a CPU.
    pub(crate) fn spot(&self, cpu: Option<CpuId>) -> usize {
        let spot = cpu.and_then(|cpu| self.spots.get(cpu.index()));
        spot.copied().unwrap_or(NOWHERE)
    }
}

impl Neighbourhood {
    /// The ring of a spot.
    pub(crate) fn ring(&self, spot: usize) -> u32 {
        self.rings.get(spot).copied().unwrap_or(0)
    }
}

/// CPUs next to a device: all of the machine if it has no place of its own.
fn next_to(machine: &Machine, device: &Device) -> CpuSet {
    let cpus = device.cpus.intersection(machine.cpus());
    match cpus.is_empty() {
        true => machine.cpus().clone(),
        false => cpus,
    }
}

/// A place and the objects around it, from narrow to wide.
fn around<'a>(objects: &'a [(ObjectKind, CpuSet)], place: &'a CpuSet) -> Vec<&'a CpuSet> {
    let objects = objects.iter().map(|(_, cpus)| cpus);
    let larger = objects.filter(|object| place.is_subset(object) && *object != place);
    let mut around: Vec<_> = larger.collect();
    around.sort_by_key(|cpus| cpus.count());
    around.dedup();
    around.insert(0, place);
    around
}

/// The spot of each CPU, and one CPU of each spot.
fn spots<'a>(sets: impl Iterator<Item = &'a CpuSet>) -> (Vec<usize>, Vec<Option<CpuId>>) {
    let mut spots: Vec<usize> = Vec::new();
    let mut count = NOWHERE + 1;
    for set in sets {
        // The part of each spot that is in the set becomes another one.
        let mut inside = BTreeMap::new();
        for cpu in set.iter() {
            let at = cpu.index();
            spots.resize(spots.len().max(at + 1), NOWHERE);
            spots[at] = *inside.entry(spots[at]).or_insert_with(|| {
                count += 1;
                count - 1
            });
        }
    }
    let mut samples = vec![None; count];
    for (cpu, spot) in (0..)
        .map(CpuId)
        .zip(&spots)
        .filter(|(_, spot)| **spot != NOWHERE)
    {
        samples[*spot].get_or_insert(cpu);
    }
    (spots, samples)
}

/// The ring of each spot, by a CPU of it.
fn rings(around: &[&CpuSet], samples: &[Option<CpuId>]) -> Vec<u32> {
    let ring = |sample: &Option<CpuId>| {
        let has = |place: &&&CpuSet| sample.is_some_and(|cpu| place.contains(cpu));
        around.iter().take_while(|place| !has(place)).count() as u32
    };
    samples.iter().map(ring).collect()
}
