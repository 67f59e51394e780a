//! Kinds of cores: performance and efficiency cores, or cores of different frequency.
//! Pure data; a machine of equal cores has one kind or none.

#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

use crate::sets::cpuset::CpuSet;
#[cfg(feature = "serde")]
use crate::sets::travel;

/// Cores of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct CoreKind {
    /// Its CPUs.
    #[cfg_attr(feature = "serde", serde(with = "travel::list"))]
    pub cpus: CpuSet,
    /// hwloc's rank: 0 is the slowest and most frugal kind. `None` where hwloc knows no order.
    pub rank: Option<u32>,
    /// hwloc's names and values, such as `CoreType` `IntelAtom`, `FrequencyMaxMHz` `3800`.
    #[cfg_attr(feature = "serde", serde(default))]
    pub infos: Vec<(String, String)>,
}

impl CoreKind {
    /// A value by its name.
    #[must_use]
    pub fn info(&self, name: &str) -> Option<&str> {
        let found = self.infos.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}
