//! The two looks at one machine. In: the input for hwloc. Out: the topology as slurmd sees it, and the parts with the
//! objects that slurmd's filters drop: dies, L1 and L2 caches, the order of the whole topology, devices of a file. The
//! first look never waits for the second; CPUs are matched by the kernel's numbers.

use berth_placement::Parts;
use berth_placement::sets::ids::CpuId;
use hwlocality::Topology;
use hwlocality::object::types::ObjectType;

use crate::convert::{self, objects, os_number};
use crate::devices;
use crate::error::DiscoverError;
use crate::load::{DROPPED, Input, Objects};

/// A machine as hwloc sees it through slurmd's filters, and without them.
pub(crate) struct Topologies {
    pub slurmds: Topology,
    whole: Whole,
}

/// The topology with everything.
enum Whole {
    /// The first topology, because there was nothing to drop.
    Same,
    Another(Topology),
    /// It is loaded when the first look has succeeded.
    NotYet,
}

impl Topologies {
    /// Looks as slurmd does. hwloc needs seconds to build a synthetic machine of many CPUs. Such a
    /// machine often has nothing that slurmd drops; then the second look is the first one.
    pub(crate) fn first(input: &Input) -> Result<Self, DiscoverError> {
        let whole = match input {
            Input::Host | Input::Xml { .. } => {
                let slurmds = input.load(Objects::Slurmds)?;
                let whole = Whole::NotYet;
                return Ok(Self { slurmds, whole });
            }
            Input::Synthetic(_) => input.load(Objects::All)?,
        };
        let has = |kind: &ObjectType| whole.objects_with_type(*kind).len() > 0;
        Ok(match DROPPED.iter().any(has) {
            true => Self {
                slurmds: input.load(Objects::Slurmds)?,
                whole: Whole::Another(whole),
            },
            false => Self {
                slurmds: whole,
                whole: Whole::Same,
            },
        })
    }

    /// The parts, including the objects that slurmd's filters drop.
    pub(crate) fn second(&self, input: &Input, parts: &Parts) -> Result<Parts, DiscoverError> {
        let objects = match input {
            Input::Xml { .. } => Objects::Devices { vendors: false },
            Input::Host | Input::Synthetic(_) => Objects::All,
        };
        match &self.whole {
            Whole::Same => complete(&self.slurmds, parts),
            Whole::Another(whole) => complete(whole, parts),
            Whole::NotYet => complete(&input.load(objects)?, parts),
        }
    }
}

/// The parts with everything that the topology has beside them. A CPU may have come or gone between the two topologies.
fn complete(topology: &Topology, parts: &Parts) -> Result<Parts, DiscoverError> {
    let pus = topology.objects_with_type(ObjectType::PU);
    let order = pus.map(|pu| os_number(pu, "hardware thread").map(CpuId));
    let whole = Parts {
        dies: objects(topology, ObjectType::Die)?,
        l2_caches: objects(topology, ObjectType::L2Cache)?,
        l1_caches: objects(topology, ObjectType::L1Cache)?,
        whole_order: order.collect::<Result<_, _>>()?,
        kinds: convert::kinds(topology)?,
        ..Parts::default()
    };
    Ok(Parts {
        devices: devices::devices(topology)?,
        ..parts.clone().with_whole(whole)
    })
}
