//! The kinds of objects that a machine's CPUs lie in: what tasks can be placed on or bound to. Pure.

/// A kind of object that tasks can be placed on or bound to. The order is by name, from wide to
/// narrow, however a machine nests them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ObjectKind {
    /// Processor chips.
    Package,
    /// Dies of a package.
    Die,
    /// Memory domains: the distinct local CPU sets of NUMA nodes. They may contain each other.
    Numa,
    /// L3 caches.
    L3,
    /// L2 caches.
    L2,
    /// L1 data caches.
    L1,
    /// Cores.
    Core,
    /// Hardware threads.
    Pu,
}

impl ObjectKind {
    /// Every kind, from wide to narrow.
    pub const ALL: [Self; 8] = [
        Self::Package,
        Self::Die,
        Self::Numa,
        Self::L3,
        Self::L2,
        Self::L1,
        Self::Core,
        Self::Pu,
    ];
}
