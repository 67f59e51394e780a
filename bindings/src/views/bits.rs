//! Slurm's bit strings, read where they stand.
//! Source: src/common/bitstring.h: 64-bit words; magic, number of bits, then the bits from the
//! lowest of each word up. The same in every release on little-endian machines.

use crate::error::Error;
use std::ops::Range;

/// BITSTR_MAGIC of bitstring.h.
const MAGIC: i64 = 0x4243_4445;
/// No job has more: 65535 cores on each of 65535 nodes.
const MOST: usize = u32::MAX as usize;

/// The words before the bits.
pub(crate) const HEAD: usize = 2;

/// The number of bits that a string of these first words has; `None` if it is no bit string.
pub(crate) fn length(magic: i64, count: i64) -> Option<usize> {
    let count = usize::try_from(count).ok();
    count.filter(|count| magic == MAGIC && *count <= MOST)
}

/// The set bits of `range`, counted from its start.
pub(crate) fn set_bits(
    bits: *const i64,
    range: Range<usize>,
    what: &'static str,
) -> Result<Vec<u32>, Error> {
    if bits.is_null() {
        return Err(Error::Absent {
            record: "credential",
            what,
        });
    }
    let nonsense = |expected: String, found: String| Error::Nonsense {
        record: what,
        expected,
        found,
    };
    // SAFETY: the caller has it from a live credential; `at` is one of its words.
    let word = |at: usize| unsafe { bits.wrapping_add(at).read_unaligned() };
    // A bit string starts with two words.
    let (magic, count) = (word(0), word(1));
    if magic != MAGIC {
        return Err(nonsense(
            format!("the mark {MAGIC:#x} of a bit string"),
            format!("{magic:#x}"),
        ));
    }
    let has_room = usize::try_from(count).is_ok_and(|all| all <= MOST && range.end <= all);
    if !has_room || range.start > range.end {
        return Err(nonsense(
            format!("bits {} to {}", range.start, range.end),
            format!("{count} bits"),
        ));
    }
    // `range` ends inside the bits, so these words are part of the string.
    let words = range.start / 64..range.end.div_ceil(64);
    let words = words.map(|at| (at * 64, word(2 + at) as u64 & inside(at * 64, &range)));
    Ok(positions(words, range.start))
}

/// Those bits of the word whose first bit is number `base` that the range has.
fn inside(base: usize, range: &Range<usize>) -> u64 {
    let from = range.start.saturating_sub(base).min(64) as u32;
    let to = range.end.saturating_sub(base).min(64) as u32;
    let below = |bit: u32| 1u64.checked_shl(bit).map_or(u64::MAX, |next| next - 1);
    below(to) & !below(from)
}

/// Numbers of the set bits, counted from `start`, of words that each know the number of their first
/// bit.
fn positions(words: impl Iterator<Item = (usize, u64)> + Clone, start: usize) -> Vec<u32> {
    let count = words.clone().map(|(_, word)| word.count_ones() as usize);
    let mut found = Vec::with_capacity(count.sum());
    for (base, mut rest) in words {
        while rest != 0 {
            let bit = base + rest.trailing_zeros() as usize;
            rest &= rest - 1;
            found.push((bit - start) as u32);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_range_has_its_own_bits() {
        let bits: Vec<usize> = (0..200)
            .filter(|bit| bit % 3 == 0 || bit % 64 == 63)
            .collect();
        let mut string = [MAGIC, 200, 0, 0, 0, 0];
        for bit in &bits {
            string[2 + bit / 64] |= 1 << (bit % 64);
        }
        for start in 0..=200 {
            for end in start..=200 {
                let own = bits.iter().filter(|bit| (start..end).contains(*bit));
                let own: Vec<u32> = own.map(|bit| (bit - start) as u32).collect();
                let found = set_bits(string.as_ptr(), start..end, "test").unwrap();
                assert_eq!(found, own, "{start}..{end}");
            }
        }
        assert!(set_bits(string.as_ptr(), 0..201, "test").is_err());
    }
}
