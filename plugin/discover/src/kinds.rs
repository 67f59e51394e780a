//! Kinds of cores, as hwloc finds them. In: a topology. Out: kinds, slowest first.
//! hwloc before 2.4 knows none. If berth is built for such a release (without the feature
//! `core-kinds`), it knows none either.

use berth_placement::CoreKind;
use hwlocality::Topology;

use crate::error::DiscoverError;

/// Every kind that hwloc has found.
#[cfg(feature = "core-kinds")]
pub(crate) fn kinds(topology: &Topology) -> Result<Vec<CoreKind>, DiscoverError> {
    use crate::convert::to_cpuset;
    use crate::texts;

    let Ok(kinds) = topology.cpu_kinds() else {
        return Ok(Vec::new());
    };
    kinds
        .map(|kind| {
            Ok(CoreKind {
                cpus: to_cpuset(kind.cpuset.iter_set().map(usize::from))?,
                rank: kind.efficiency.and_then(|rank| u32::try_from(rank).ok()),
                infos: texts::pairs(kind.infos),
            })
        })
        .collect()
}

/// None.
#[cfg(not(feature = "core-kinds"))]
pub(crate) fn kinds(_: &Topology) -> Result<Vec<CoreKind>, DiscoverError> {
    Ok(Vec::new())
}
