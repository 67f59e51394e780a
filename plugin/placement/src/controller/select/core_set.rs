//! Cores of one node as slurmctld numbers them: socket × cores of a socket + core.
//! In and out: core numbers from 0. Pure; a set keeps one bit for each number up to its highest.

use std::fmt;
use std::ops::Range;

use crate::sets::cpuset::{CpuSet, members};
use crate::sets::ids::CpuId;

const BITS: u32 = u64::BITS;

/// A set of cores of one node.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct CoreSet(Vec<u64>);

impl CoreSet {
    /// No core.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The cores below `count`. The caller has checked the size ([`super::Cluster::check`]).
    #[must_use]
    pub fn first(count: u32) -> Self {
        let whole = (count / BITS) as usize;
        let mut words = vec![u64::MAX; whole];
        if !count.is_multiple_of(BITS) {
            words.push((1 << (count % BITS)) - 1);
        }
        Self(words)
    }

    /// Adds one core.
    pub fn insert(&mut self, core: u32) {
        let at = (core / BITS) as usize;
        if self.0.len() <= at {
            self.0.resize(at + 1, 0);
        }
        self.0[at] |= 1 << (core % BITS);
    }

    /// Takes one core out.
    pub fn remove(&mut self, core: u32) {
        if let Some(word) = self.0.get_mut((core / BITS) as usize) {
            *word &= !(1 << (core % BITS));
            self.trim();
        }
    }

    /// Whether the core is a member.
    #[must_use]
    pub fn contains(&self, core: u32) -> bool {
        self.word((core / BITS) as usize) >> (core % BITS) & 1 == 1
    }

    /// Whether there is no member.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of members.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Number of members in a range.
    #[must_use]
    pub fn count_in(&self, range: Range<u32>) -> u32 {
        parts(range)
            .map(|(at, part)| (self.word(at) & part).count_ones())
            .sum()
    }

    /// Members in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let words = self.0.iter().enumerate();
        words.flat_map(|(at, word)| members(at, *word))
    }

    /// Members of a range in ascending order.
    pub fn iter_in(&self, range: Range<u32>) -> impl Iterator<Item = u32> + '_ {
        parts(range).flat_map(|(at, part)| members(at, self.word(at) & part))
    }

    /// Takes all members of `other` out.
    pub fn remove_all(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine &= !theirs;
        }
        self.trim();
    }

    fn word(&self, at: usize) -> u64 {
        self.0.get(at).copied().unwrap_or(0)
    }

    /// Equal sets are equal vectors: no word without members stands at the end.
    fn trim(&mut self) {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }
}

/// The words that a range of numbers touches, each with the bits of the range.
fn parts(range: Range<u32>) -> impl Iterator<Item = (usize, u64)> {
    let words = range.start / BITS..range.end.div_ceil(BITS);
    words.filter_map(move |at| {
        let first = range.start.saturating_sub(at * BITS).min(BITS);
        let end = (range.end - at * BITS).min(BITS);
        let below = |bit: u32| u64::MAX.checked_shr(BITS - bit).unwrap_or(0);
        let part = below(end) & !below(first);
        (part != 0).then_some((at as usize, part))
    })
}

impl FromIterator<u32> for CoreSet {
    fn from_iter<I: IntoIterator<Item = u32>>(cores: I) -> Self {
        let mut set = Self::new();
        cores.into_iter().for_each(|core| set.insert(core));
        set
    }
}

/// The compact form of a list: `0-3,8`.
impl fmt::Display for CoreSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: CpuSet = self.iter().map(CpuId).collect();
        numbers.fmt(f)
    }
}

impl fmt::Debug for CoreSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_cross_words() {
        let set: CoreSet = [0, 3, 63, 64, 65, 130].into_iter().collect();
        assert_eq!(set.to_string(), "0,3,63-65,130");
        assert_eq!(set.count(), 6);
        assert_eq!(set.count_in(3..65), 3);
        assert_eq!(set.iter_in(63..131).collect::<Vec<_>>(), [63, 64, 65, 130]);
        assert_eq!(set.count_in(4..4) + set.count_in(200..300), 0);
    }

    #[test]
    fn equal_sets_are_equal() {
        for count in [0, 1, 63, 64, 65, 128, 200] {
            let mut first = CoreSet::first(count);
            assert_eq!(first, (0..count).collect());
            first.insert(300);
            first.remove(300);
            assert_eq!(first.count(), count);
            first.remove_all(&CoreSet::first(count));
            assert!(first.is_empty(), "{count}");
        }
    }
}
