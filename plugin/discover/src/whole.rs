//! Adds the objects that slurmd's filters drop: dies, L1 and L2 caches, the order of the whole
//! topology, devices of a file. In: a topology with all objects, and the parts found before. Out:
//! complete parts. CPUs are matched by the kernel's numbers.

use berth_placement::Parts;
use berth_placement::sets::ids::CpuId;
use hwlocality::Topology;
use hwlocality::object::types::ObjectType;

use crate::convert::{objects, os_number};
use crate::error::DiscoverError;
use crate::{devices, kinds};

/// The parts with everything that the topology has beside them. A CPU may have come or gone between the two looks.
pub(crate) fn add(topology: &Topology, parts: &Parts) -> Result<Parts, DiscoverError> {
    let pus = topology.objects_with_type(ObjectType::PU);
    let order = pus.map(|pu| os_number(pu, "hardware thread").map(CpuId));
    let whole = Parts {
        dies: objects(topology, ObjectType::Die)?,
        l2_caches: objects(topology, ObjectType::L2Cache)?,
        l1_caches: objects(topology, ObjectType::L1Cache)?,
        whole_order: order.collect::<Result<_, _>>()?,
        kinds: kinds::kinds(topology)?,
        ..Parts::default()
    };
    Ok(Parts {
        devices: devices::devices(topology)?,
        ..parts.clone().with_whole(whole)
    })
}
