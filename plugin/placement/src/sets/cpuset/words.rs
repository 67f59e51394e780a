//! Several sets at once, word by word: what two have in common, the union of many, one that is another
//! moved.

use super::{CpuSet, Words};
use crate::sets::ids::CpuId;

impl CpuSet {
    /// The set whose words are computed from the words of two sets.
    pub(super) fn by_word(&self, other: &Self, make: impl Fn(u64, u64) -> u64) -> Self {
        let count = self.word_count().max(other.word_count());
        let words = (0..count).map(|at| make(self.word(at), other.word(at)));
        Self::from_words(words.collect::<Vec<_>>())
    }

    /// Adds the members to words of the kernel's form.
    pub(crate) fn add_to(&self, words: &mut Vec<u64>) {
        let count = self.word_count();
        if words.len() < count {
            words.resize(count, 0);
        }
        match &self.0 {
            Words::One { word: 0, .. } => {}
            Words::One { at, word } => words[*at] |= word,
            Words::Many(own) => words
                .iter_mut()
                .zip(own.iter())
                .for_each(|(all, own)| *all |= own),
        }
    }

    /// By how much the members' numbers grow to those of another set, if all grow by the same.
    pub(crate) fn step_to(&self, next: &Self) -> Option<u32> {
        if let (
            Words::One { at, word },
            Words::One {
                at: same,
                word: after,
            },
        ) = (&self.0, &next.0)
            && at == same
        {
            let step = after.trailing_zeros().checked_sub(word.trailing_zeros())?;
            let moved = word.checked_shl(step)?;
            return (moved == *after && moved >> step == *word).then_some(step);
        }
        let step = next.lowest()?.0.checked_sub(self.lowest()?.0)?;
        let moved = self.iter().map(|cpu| CpuId(cpu.0 + step));
        moved.eq(next.iter()).then_some(step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The quick way within one word against all members, for random sets.
    #[test]
    fn a_set_is_another_one_moved() {
        let mut number = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = || {
            number ^= number << 13;
            number ^= number >> 7;
            number ^= number << 17;
            number
        };
        let slow = |one: &CpuSet, next: &CpuSet| {
            let step = next.lowest()?.0.checked_sub(one.lowest()?.0)?;
            let moved: CpuSet = one.iter().map(|cpu| CpuId(cpu.0 + step)).collect();
            (moved == *next).then_some(step)
        };
        // Moved by one, the last bit leaves the word, and what is left is equal.
        let one = CpuSet::from_words(vec![(1 << 63) | 1]);
        assert_eq!(one.step_to(&CpuSet::from_words(vec![2])), None);
        for _ in 0..20_000 {
            let (word, place, step) = (random() & random() & random(), random() % 3, random() % 70);
            let mut words = vec![0; place as usize];
            words.push(word);
            let one = CpuSet::from_words(words);
            let next = match random() % 4 {
                0 => CpuSet::from_words(vec![random() & random()]),
                _ => one.iter().map(|cpu| CpuId(cpu.0 + step as u32)).collect(),
            };
            let found = one.step_to(&next);
            let is_empty = one.is_empty() && next.is_empty();
            assert!(is_empty || found == slow(&one, &next), "{one} {next}");
            let mut both = Vec::new();
            one.add_to(&mut both);
            next.add_to(&mut both);
            let mut all = one.clone();
            all.insert_all(&next);
            assert_eq!(CpuSet::from_words(both), all, "{one} {next}");
        }
    }
}
