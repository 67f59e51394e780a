//! Sets of CPUs, NUMA nodes, hardware threads and cores, of any size.
//! In: numbers, masks, lists. Out: the same, strictly parsed and bounded.
//! Pure; a set grows as needed and is not limited to 64 or 1024 members.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use crate::sets::ids::{CpuId, NumaId, Number, PuIdx};
use crate::sets::text::write_ranges;

pub use crate::sets::limits::MAX_CPUS;

/// Members of a word.
pub(crate) const BITS: u32 = u64::BITS;

/// A set of numbers of one kind. Sets of different kinds share the mathematics and the texts, but not the type.
///
/// Equality and order ignore how much room a set has: only members count. Sets within one word,
/// which most tasks have, own no memory. Copies of other sets share it, because 65,536 tasks may
/// have the CPUs of one wide node.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Set<T>(Words, PhantomData<T>);

/// A set of kernel CPU numbers.
pub type CpuSet = Set<CpuId>;
/// A set of NUMA nodes, by the kernel's numbers.
pub type NodeSet = Set<NumaId>;
/// A set of hardware threads of one node, by their place in Slurm's order.
pub type PuSet = Set<PuIdx>;

/// One form for each set, so that derived equality is set equality.
#[derive(Clone, PartialEq, Eq)]
enum Words {
    /// All members are in the word number `at`; the empty set is 0 in word 0.
    One { at: usize, word: u64 },
    /// The words from word 0 on; the last is not 0, and it is not the only one.
    Many(Arc<[u64]>),
}

/// Words that are not 0, each with its number; the last is told apart, so that a list of sets has
/// another hash than a list that is cut elsewhere.
impl Hash for Words {
    fn hash<H: Hasher>(&self, state: &mut H) {
        const LAST: u64 = 1 << 63;
        match self {
            Self::One { at, word } => {
                state.write_u64(*at as u64 | LAST);
                state.write_u64(*word);
            }
            Self::Many(words) => {
                let some = (0..).zip(words.iter()).filter(|(_, word)| **word != 0);
                for (at, word) in some {
                    let last = if at + 1 == words.len() { LAST } else { 0 };
                    state.write_u64(at as u64 | last);
                    state.write_u64(*word);
                }
            }
        }
    }
}

impl<T> Default for Set<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Set<T> {
    /// The empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self(Words::One { at: 0, word: 0 }, PhantomData)
    }

    /// All numbers from 0 up to, but not including, `count`.
    #[must_use]
    pub fn first(count: u32) -> Self {
        let words = words_of(0..count).map(|(_, word)| word);
        Self::from_words(words.collect::<Vec<_>>())
    }

    /// Takes the kernel's words, least significant first.
    #[must_use]
    pub fn from_words(words: impl Into<Vec<u64>>) -> Self {
        let mut words = words.into();
        while words.last() == Some(&0) {
            words.pop();
        }
        let words = match words.split_last() {
            None => return Self::new(),
            Some((&word, rest)) if rest.iter().all(|word| *word == 0) => Words::One {
                at: rest.len(),
                word,
            },
            Some(_) => Words::Many(words.into()),
        };
        Self(words, PhantomData)
    }

    /// The words, least significant first, without trailing zero words.
    #[must_use]
    pub fn to_words(&self) -> Vec<u64> {
        (0..self.word_count()).map(|at| self.word(at)).collect()
    }

    /// The number of words up to the highest member.
    pub(crate) fn word_count(&self) -> usize {
        match &self.0 {
            Words::One { word: 0, .. } => 0,
            Words::One { at, .. } => at + 1,
            Words::Many(words) => words.len(),
        }
    }

    /// A word by its number; 0 beyond the last.
    pub(crate) fn word(&self, number: usize) -> u64 {
        match &self.0 {
            Words::One { at, word } if *at == number => *word,
            Words::One { .. } => 0,
            Words::Many(words) => words.get(number).copied().unwrap_or(0),
        }
    }

    /// The words by number; a set within one word has only that one.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let (first, words) = match &self.0 {
            Words::One { at, word } => (*at, std::slice::from_ref(word)),
            Words::Many(words) => (0, &**words),
        };
        (first..).zip(words.iter().copied())
    }

    /// Adds the members of a word.
    fn insert_word(&mut self, number: usize, bits: u64) {
        match &mut self.0 {
            _ if bits == 0 => {}
            Words::One { at, word } if *word == 0 || *at == number => {
                (*at, *word) = (number, *word | bits);
            }
            Words::Many(words) if number < words.len() => Arc::make_mut(words)[number] |= bits,
            _ => {
                let mut words = self.to_words();
                words.resize(words.len().max(number + 1), 0);
                words[number] |= bits;
                self.0 = Words::Many(words.into());
            }
        }
    }

    /// Whether there is no member.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.word_count() == 0
    }

    /// Number of members.
    #[must_use]
    pub fn count(&self) -> usize {
        self.numbered()
            .map(|(_, word)| word.count_ones() as usize)
            .sum()
    }

    /// Number of members in a range.
    #[must_use]
    pub fn count_in(&self, range: Range<u32>) -> u32 {
        words_of(range)
            .map(|(at, part)| (self.word(at) & part).count_ones())
            .sum()
    }

    /// The highest member's number.
    pub(super) fn highest_number(&self) -> Option<u32> {
        let count = self.word_count();
        let last = self.word(count.checked_sub(1)?);
        Some(count as u32 * BITS - 1 - last.leading_zeros())
    }

    /// The first and last member of each run of successive ones, in ascending order.
    fn ranges(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let mut words = self.numbered();
        // The members of the word under way that are left.
        let (mut base, mut rest) = (0, 0);
        let mut run: Option<(u32, u32)> = None;
        std::iter::from_fn(move || {
            loop {
                if rest == 0 {
                    let Some((at, word)) = words.next() else {
                        return run.take();
                    };
                    (base, rest) = (at as u32 * BITS, word);
                    continue;
                }
                let low = rest.trailing_zeros();
                let count = (rest >> low).trailing_ones();
                rest &= !(u64::MAX >> (BITS - count) << low);
                let (first, last) = (base + low, base + low + count - 1);
                match run.replace((first, last)) {
                    Some((begin, end)) if end + 1 == first => run = Some((begin, last)),
                    Some(before) => return Some(before),
                    None => {}
                }
            }
        })
    }

    /// Adds all members of `other`.
    pub fn insert_all(&mut self, other: &Self) {
        match (&mut self.0, &other.0) {
            (_, Words::One { at, word }) => self.insert_word(*at, *word),
            (Words::One { word: 0, .. }, words) => self.0 = Words::clone(words),
            (Words::Many(mine), Words::Many(theirs)) if theirs.len() <= mine.len() => {
                let mine = Arc::make_mut(mine).iter_mut();
                mine.zip(theirs.iter())
                    .for_each(|(mine, word)| *mine |= word);
            }
            _ => *self = self.by_word(other, |mine, theirs| mine | theirs),
        }
    }

    /// Members of both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.by_word(other, |mine, theirs| mine & theirs)
    }

    /// Members of this set that are not in `other`.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.by_word(other, |mine, theirs| mine & !theirs)
    }

    /// The set whose words are computed from the words of two sets.
    fn by_word(&self, other: &Self, make: impl Fn(u64, u64) -> u64) -> Self {
        let count = self.word_count().max(other.word_count());
        let words = (0..count).map(|at| make(self.word(at), other.word(at)));
        Self::from_words(words.collect::<Vec<_>>())
    }

    /// Whether every member is also in `other`.
    #[must_use]
    pub fn is_subset(&self, other: &Self) -> bool {
        self.numbered()
            .all(|(at, word)| word & !other.word(at) == 0)
    }

    /// Returns whether the two sets have a member in common.
    #[must_use]
    pub fn intersects(&self, other: &Self) -> bool {
        self.numbered().any(|(at, word)| word & other.word(at) != 0)
    }
}

impl<T: Number> Set<T> {
    /// The set of one member.
    #[must_use]
    pub fn one(member: T) -> Self {
        let (at, word) = bit(member);
        Self(Words::One { at, word }, PhantomData)
    }

    /// Adds one member.
    pub fn insert(&mut self, member: T) {
        let (at, bit) = bit(member);
        self.insert_word(at, bit);
    }

    /// Removes one member.
    pub fn remove(&mut self, member: T) {
        let (at, bit) = bit(member);
        match &mut self.0 {
            Words::Many(words) if words.get(at).is_some_and(|word| word & !bit != 0) => {
                Arc::make_mut(words)[at] &= !bit;
            }
            _ => *self = self.difference(&Self::one(member)),
        }
    }

    /// Whether the number is a member.
    #[must_use]
    pub fn contains(&self, member: T) -> bool {
        let (at, bit) = bit(member);
        self.word(at) & bit != 0
    }

    /// The lowest member.
    #[must_use]
    pub fn lowest(&self) -> Option<T> {
        self.iter().next()
    }

    /// The highest member.
    #[must_use]
    pub fn highest(&self) -> Option<T> {
        self.highest_number().map(T::of)
    }

    /// Members in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        let numbers = self.numbered().flat_map(|(at, word)| members(at, word));
        numbers.map(T::of)
    }

    /// Members of a range in ascending order.
    pub fn iter_in(&self, range: Range<u32>) -> impl Iterator<Item = T> + '_ {
        let numbers = words_of(range).flat_map(|(at, part)| members(at, self.word(at) & part));
        numbers.map(T::of)
    }
}

/// The word of a number, by the word's number, and its bit there.
fn bit(member: impl Number) -> (usize, u64) {
    let number = member.number();
    ((number / BITS) as usize, 1 << (number % BITS))
}

/// The words that a range of numbers touches, each with the bits of the range.
fn words_of(range: Range<u32>) -> impl Iterator<Item = (usize, u64)> {
    let words = range.start / BITS..range.end.div_ceil(BITS);
    words.map(move |at| {
        let first = range.start.saturating_sub(at * BITS).min(BITS);
        let end = (range.end - at * BITS).min(BITS);
        let below = |bit: u32| u64::MAX.checked_shr(BITS - bit).unwrap_or(0);
        (at as usize, below(end) & !below(first))
    })
}

/// The numbers of a word's bits, by the number of the word.
fn members(at: usize, word: u64) -> impl Iterator<Item = u32> {
    let mut rest = word;
    std::iter::from_fn(move || {
        (rest != 0).then(|| {
            let bit = rest.trailing_zeros();
            rest &= rest - 1;
            at as u32 * BITS + bit
        })
    })
}

/// By words from the least significant on; a set that ends first comes first.
impl<T: Eq> Ord for Set<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.to_words().cmp(&other.to_words())
    }
}

impl<T: Eq> PartialOrd for Set<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Neighbours mostly have neighbouring numbers: they are added by the word.
impl<T: Number> FromIterator<T> for Set<T> {
    fn from_iter<I: IntoIterator<Item = T>>(all: I) -> Self {
        let mut words = Vec::new();
        let mut add = |at: usize, word: u64| {
            words.resize(words.len().max(at + 1), 0);
            words[at] |= word;
        };
        let (mut at, mut word, mut is_one) = (0, 0, true);
        for member in all {
            let (next, bit) = bit(member);
            if next != at && word != 0 {
                add(at, word);
                (word, is_one) = (0, false);
            }
            at = next;
            word |= bit;
        }
        if is_one {
            return Self(Words::One { at, word }, PhantomData);
        }
        add(at, word);
        Self::from_words(words)
    }
}

/// The kernel's compact list form: `0-3,8`.
impl<T> fmt::Display for Set<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_ranges(f, self.ranges())
    }
}

impl<T> fmt::Debug for Set<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}

#[cfg(test)]
#[path = "cpuset_tests.rs"]
mod tests;
