//! The two looks at one machine. In: the input for hwloc. Out: the topology as slurmd sees it,
//! and the parts with the objects that slurmd's filters drop. The first look never waits for the
//! second.

use berth_placement::Parts;
use hwlocality::Topology;
use hwlocality::object::types::ObjectType;

use crate::error::DiscoverError;
use crate::load::{DROPPED, Input, Objects};
use crate::whole;

/// A machine as hwloc sees it through slurmd's filters, and without them.
pub(crate) struct Looks {
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

impl Looks {
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
            Whole::Same => whole::add(&self.slurmds, parts),
            Whole::Another(whole) => whole::add(whole, parts),
            Whole::NotYet => whole::add(&input.load(objects)?, parts),
        }
    }
}
