//! Adds the objects that slurmd's filters drop: dies, L1 and L2 caches, the order of the whole
//! topology, devices of a file. In: a topology with all objects, and the parts found before. Out:
//! complete parts. CPUs are matched by the kernel's numbers.

use berth_placement::sets::ids::CpuId;
use berth_placement::{CpuSet, Parts};
use hwlocality::Topology;
use hwlocality::object::types::ObjectType;

use crate::convert::{objects, os_number};
use crate::error::DiscoverError;
use crate::{devices, kinds};

/// The parts with everything that the topology has beside them.
pub(crate) fn add(topology: &Topology, parts: &Parts) -> Result<Parts, DiscoverError> {
    let cores = parts.packages.iter().flat_map(|package| &package.cores);
    let slurmds: Vec<CpuId> = cores.flat_map(|core| core.pus.iter().copied()).collect();
    let known: CpuSet = slurmds.iter().copied().collect();
    // A CPU may have come or gone between the two looks.
    let of = |kind| {
        let sets = objects(topology, kind)?.into_iter();
        let cut = sets.map(|set: CpuSet| set.intersection(&known));
        Ok::<_, DiscoverError>(cut.filter(|set| !set.is_empty()).collect::<Vec<_>>())
    };
    let pus = topology.objects_with_type(ObjectType::PU);
    let order = pus.map(|pu| os_number(pu, "hardware thread").map(CpuId));
    let mut whole_order: Vec<_> = order.collect::<Result<_, _>>()?;
    whole_order.retain(|cpu| known.contains(*cpu));
    if whole_order == slurmds {
        whole_order.clear();
    }
    let mut found_kinds = kinds::kinds(topology)?;
    found_kinds.retain_mut(|kind| {
        kind.cpus = kind.cpus.intersection(&known);
        !kind.cpus.is_empty()
    });
    Ok(Parts {
        dies: of(ObjectType::Die)?,
        l2_caches: of(ObjectType::L2Cache)?,
        l1_caches: of(ObjectType::L1Cache)?,
        whole_order,
        kinds: found_kinds,
        devices: devices::devices(topology)?,
        ..parts.clone()
    })
}
