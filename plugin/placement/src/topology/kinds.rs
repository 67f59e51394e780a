//! Kinds of cores: performance and efficiency cores, or cores of different frequency.
//! Pure data; a machine of equal cores has one kind or none.

use crate::sets::cpuset::CpuSet;

/// Cores of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoreKind {
    /// Its CPUs.
    pub cpus: CpuSet,
    /// hwloc's rank: 0 is the slowest and most frugal kind. `None` where hwloc knows no order.
    pub rank: Option<u32>,
    /// hwloc's names and values, such as `CoreType` `IntelAtom`, `FrequencyMaxMHz` `3800`.
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
