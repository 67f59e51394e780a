//! A set of CPUs (or NUMA nodes) of any size, and its hexadecimal and list texts.
//! In: kernel numbers, masks, lists. Out: the same, strictly parsed and bounded.
//! Pure; grows as needed, nothing is fixed at 64 or 1024.

use std::fmt;

use crate::error::TextError;
use crate::ids::{CpuId, NumaId};

/// CPUs beyond this number are refused wherever text is parsed: the kernel's
/// own limit (`NR_CPUS`) is far below, and a typing error must not allocate much.
pub const MAX_CPUS: u32 = 1 << 16;

const BITS: u32 = u64::BITS;

/// A set of kernel CPU numbers.
///
/// Equality and order ignore how much room a set has: only members count.
#[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CpuSet {
    /// Never ends with a zero word, so that derived equality is set equality.
    words: Vec<u64>,
}

impl CpuSet {
    /// The empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self { words: Vec::new() }
    }

    /// All CPUs from 0 up to, but not including, `count`.
    #[must_use]
    pub fn first(count: u32) -> Self {
        (0..count).map(CpuId).collect()
    }

    /// Takes the kernel's words, least significant first.
    #[must_use]
    pub fn from_words(words: impl Into<Vec<u64>>) -> Self {
        let mut set = Self {
            words: words.into(),
        };
        set.trim();
        set
    }

    /// The words, least significant first, without trailing zero words.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    fn trim(&mut self) {
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
    }

    /// Adds one CPU.
    pub fn insert(&mut self, cpu: CpuId) {
        let word = (cpu.0 / BITS) as usize;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (cpu.0 % BITS);
    }

    /// Takes one CPU away.
    pub fn remove(&mut self, cpu: CpuId) {
        if let Some(word) = self.words.get_mut((cpu.0 / BITS) as usize) {
            *word &= !(1 << (cpu.0 % BITS));
            self.trim();
        }
    }

    /// Whether the CPU is a member.
    #[must_use]
    pub fn contains(&self, cpu: CpuId) -> bool {
        self.words
            .get((cpu.0 / BITS) as usize)
            .is_some_and(|word| word >> (cpu.0 % BITS) & 1 == 1)
    }

    /// Whether there is no member.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Number of members.
    #[must_use]
    pub fn count(&self) -> usize {
        self.words
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    /// More than one CPU: the task may move inside its mask.
    #[must_use]
    pub fn is_fat(&self) -> bool {
        self.count() > 1
    }

    /// The lowest member.
    #[must_use]
    pub fn lowest(&self) -> Option<CpuId> {
        self.iter().next()
    }

    /// The highest member.
    #[must_use]
    pub fn highest(&self) -> Option<CpuId> {
        let last = self.words.last()?;
        Some(CpuId(
            (self.words.len() as u32) * BITS - 1 - last.leading_zeros(),
        ))
    }

    /// Members in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = CpuId> + '_ {
        self.words.iter().enumerate().flat_map(|(at, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                (rest != 0).then(|| {
                    let bit = rest.trailing_zeros();
                    rest &= rest - 1;
                    CpuId(at as u32 * BITS + bit)
                })
            })
        })
    }

    /// Adds all members of `other`.
    pub fn insert_all(&mut self, other: &Self) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (mine, theirs) in self.words.iter_mut().zip(&other.words) {
            *mine |= theirs;
        }
    }

    /// Members of both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        Self::from_words(
            self.words
                .iter()
                .zip(&other.words)
                .map(|(a, b)| a & b)
                .collect::<Vec<_>>(),
        )
    }

    /// Members of this set that are not in `other`.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let theirs = other.words.iter().chain(std::iter::repeat(&0));
        Self::from_words(
            self.words
                .iter()
                .zip(theirs)
                .map(|(a, b)| a & !b)
                .collect::<Vec<_>>(),
        )
    }

    /// Whether every member is also in `other`.
    #[must_use]
    pub fn is_subset(&self, other: &Self) -> bool {
        self.difference(other).is_empty()
    }

    /// Whether the sets share a member.
    #[must_use]
    pub fn intersects(&self, other: &Self) -> bool {
        self.words.iter().zip(&other.words).any(|(a, b)| a & b != 0)
    }
}

/// A set of NUMA nodes: the same mathematics, another meaning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NodeSet(CpuSet);

impl NodeSet {
    /// Adds one node.
    pub fn insert(&mut self, node: NumaId) {
        self.0.insert(CpuId(node.0));
    }

    /// Whether the node is a member.
    #[must_use]
    pub fn contains(&self, node: NumaId) -> bool {
        self.0.contains(CpuId(node.0))
    }

    /// Members in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = NumaId> + '_ {
        self.0.iter().map(|id| NumaId(id.0))
    }

    /// Whether there is no member.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The lowest member.
    #[must_use]
    pub fn lowest(&self) -> Option<NumaId> {
        self.iter().next()
    }

    /// Members of this set that are not in `other`.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        Self(self.0.difference(&other.0))
    }

    /// The words, least significant first, without trailing zero words.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        self.0.words()
    }

    /// `0x` and digits without leading zeros.
    #[must_use]
    pub fn to_hex(&self) -> String {
        self.0.to_short_hex()
    }

    /// Reads a hexadecimal mask, with or without `0x`.
    ///
    /// # Errors
    /// [`TextError`] as for CPUs.
    pub fn from_hex(text: &str) -> Result<Self, TextError> {
        CpuSet::from_hex(text).map(Self)
    }
}

impl FromIterator<NumaId> for NodeSet {
    fn from_iter<I: IntoIterator<Item = NumaId>>(nodes: I) -> Self {
        Self(nodes.into_iter().map(|id| CpuId(id.0)).collect())
    }
}

impl fmt::Display for NodeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromIterator<CpuId> for CpuSet {
    fn from_iter<I: IntoIterator<Item = CpuId>>(cpus: I) -> Self {
        let mut set = Self::new();
        for cpu in cpus {
            set.insert(cpu);
        }
        set
    }
}

/// The kernel's compact list form: `0-3,8`.
impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut members = self.iter().peekable();
        let mut first = true;
        while let Some(start) = members.next() {
            let mut end = start;
            while let Some(next) = members.next_if(|next| next.0 == end.0 + 1) {
                end = next;
            }
            if !first {
                f.write_str(",")?;
            }
            first = false;
            if start == end {
                write!(f, "{start}")?;
            } else {
                write!(f, "{start}-{end}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}
