//! A set of hardware threads of one node, by their place in Slurm's order.
//! In: places. Out: whether they are members, and how many are. Pure.
//!
//! Unlike a set of CPUs it has room for all threads of its node from the start, and small nodes need
//! no memory of their own for it.

use crate::sets::cpuset::members;
use crate::sets::ids::PuIdx;

/// Hardware threads of a word.
const BITS: usize = u64::BITS as usize;
/// Words that a set has without memory of its own.
const FEW: usize = 4;

/// A set of hardware threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PuSet {
    /// The node's hardware threads, members or not.
    room: usize,
    /// Members.
    count: usize,
    words: Words,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Words {
    Few([u64; FEW]),
    Many(Vec<u64>),
}

impl PuSet {
    /// No member, with room for the hardware threads below `room`.
    #[must_use]
    pub fn empty(room: usize) -> Self {
        let words = match room <= FEW * BITS {
            true => Words::Few([0; FEW]),
            false => Words::Many(vec![0; room.div_ceil(BITS)]),
        };
        Self {
            room,
            count: 0,
            words,
        }
    }

    /// All hardware threads below `room`.
    #[must_use]
    pub fn full(room: usize) -> Self {
        let mut all = Self::empty(room);
        all.count = room;
        for (at, word) in all.words_mut().iter_mut().enumerate() {
            let here = room.saturating_sub(at * BITS);
            *word = match here {
                0 => 0,
                1..BITS => u64::MAX >> (BITS - here),
                _ => u64::MAX,
            };
        }
        all
    }

    fn words(&self) -> &[u64] {
        match &self.words {
            Words::Few(words) => words,
            Words::Many(words) => words,
        }
    }

    fn words_mut(&mut self) -> &mut [u64] {
        match &mut self.words {
            Words::Few(words) => words,
            Words::Many(words) => words,
        }
    }

    /// Adds a hardware thread; one that is not of this node is left out.
    pub fn insert(&mut self, pu: PuIdx) {
        if pu.index() < self.room && !self.has(pu) {
            self.words_mut()[pu.index() / BITS] |= 1 << (pu.index() % BITS);
            self.count += 1;
        }
    }

    /// Removes a hardware thread.
    pub fn remove(&mut self, pu: PuIdx) {
        if self.has(pu) {
            self.words_mut()[pu.index() / BITS] &= !(1 << (pu.index() % BITS));
            self.count -= 1;
        }
    }

    /// Whether a hardware thread is a member.
    #[must_use]
    pub fn has(&self, pu: PuIdx) -> bool {
        let word = self.words().get(pu.index() / BITS);
        word.is_some_and(|word| word >> (pu.index() % BITS) & 1 == 1)
    }

    /// Number of members.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether all hardware threads of the node are members.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.count == self.room
    }

    /// Whether none is a member.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Members in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = PuIdx> + '_ {
        let words = self.words().iter().enumerate();
        words.flat_map(|(at, word)| members(at, *word)).map(PuIdx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_nodes_have_the_same_sets() {
        for room in [0, 1, 63, 64, 65, 255, 256, 257, 1000] {
            let (mut set, full) = (PuSet::empty(room), PuSet::full(room));
            assert_eq!((set.count(), full.count()), (0, room), "{room}");
            assert!(set.is_empty() && full.is_full());
            let some = [0, 5, 63, 64, 200, 256, 999, 5000].map(PuIdx);
            some.iter().for_each(|pu| set.insert(*pu));
            let here = some.iter().copied().filter(|pu| pu.index() < room);
            assert_eq!(
                set.iter().collect::<Vec<_>>(),
                here.collect::<Vec<_>>(),
                "{room}"
            );
            assert!(some.iter().all(|pu| set.has(*pu) == full.has(*pu)));
            some.iter().for_each(|pu| set.remove(*pu));
            assert_eq!(set, PuSet::empty(room));
        }
    }
}
