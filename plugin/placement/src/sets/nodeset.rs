//! Sets of NUMA nodes. They share the mathematics and the texts of sets of CPUs, but not the type.
//! In: numbers, masks. Out: the same, and the kernel's words. Pure.

use std::fmt;
use std::sync::Arc;

use crate::sets::cpuset::CpuSet;
use crate::sets::ids::{CpuId, NumaId};
use crate::sets::text::TextError;

/// A set of NUMA nodes, by the kernel's numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NodeSet(Arc<Nodes>);

/// The members stand apart, so a task whose memory is not bound needs no room for them, and tasks
/// with the same nodes share them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Nodes {
    set: CpuSet,
    /// The kernel's words, ready for a task between fork and exec, where nothing may allocate.
    words: Vec<u64>,
}

impl NodeSet {
    fn of(set: CpuSet) -> Self {
        Self(Arc::new(Nodes {
            words: set.to_words(),
            set,
        }))
    }

    /// Adds one node.
    pub fn insert(&mut self, node: NumaId) {
        let mut set = self.0.set.clone();
        set.insert(CpuId(node.0));
        *self = Self::of(set);
    }

    /// The numbers of the nodes as a set of CPUs, whose texts they share.
    pub(crate) fn as_cpus(&self) -> &CpuSet {
        &self.0.set
    }

    /// Whether every member is also in `other`.
    #[must_use]
    pub fn is_subset(&self, other: &Self) -> bool {
        self.0.set.is_subset(&other.0.set)
    }

    /// Whether the node is a member.
    #[must_use]
    pub fn contains(&self, node: NumaId) -> bool {
        self.0.set.contains(CpuId(node.0))
    }

    /// Members in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = NumaId> + '_ {
        self.0.set.iter().map(|id| NumaId(id.0))
    }

    /// Whether there is no member.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.set.is_empty()
    }

    /// The lowest member.
    #[must_use]
    pub fn lowest(&self) -> Option<NumaId> {
        self.iter().next()
    }

    /// The nodes of both.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        Self::of(self.0.set.intersection(&other.0.set))
    }

    /// Members of this set that are not in `other`.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        Self::of(self.0.set.difference(&other.0.set))
    }

    /// The words, least significant first, without trailing zero words.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.0.words
    }

    /// `0x` and digits without leading zeros.
    #[must_use]
    pub fn to_hex(&self) -> String {
        self.0.set.to_short_hex()
    }

    /// Reads a hexadecimal mask, with or without `0x`.
    ///
    /// # Errors
    /// [`TextError`] as for CPUs.
    pub fn from_hex(text: &str) -> Result<Self, TextError> {
        CpuSet::from_hex(text).map(Self::of)
    }

    /// Reads a hexadecimal mask of nodes below `width`, with or without `0x`.
    ///
    /// # Errors
    /// [`TextError`] as for CPUs.
    pub fn from_hex_within(text: &str, width: u32) -> Result<Self, TextError> {
        CpuSet::from_hex_within(text, width).map(Self::of)
    }
}

impl FromIterator<NumaId> for NodeSet {
    fn from_iter<I: IntoIterator<Item = NumaId>>(nodes: I) -> Self {
        Self::of(nodes.into_iter().map(|id| CpuId(id.0)).collect())
    }
}

impl fmt::Display for NodeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.set.fmt(f)
    }
}
