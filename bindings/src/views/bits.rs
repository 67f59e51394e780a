//! Slurm's bit strings, read where they stand.
//! Source: src/common/bitstring.h: 64-bit words; magic, number of bits, then the bits from the
//! lowest of each word up. The same in every release on little-endian machines.

use crate::error::Error;
use crate::record::items;
use std::ops::Range;

/// BITSTR_MAGIC of bitstring.h.
const MAGIC: i64 = 0x4243_4445;
/// No job has more: 65535 cores on each of 65535 nodes.
const MOST: usize = u32::MAX as usize;

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
    // SAFETY: a bit string starts with two words; the caller has it from a live credential.
    let head = unsafe { items(bits, 2) }.unwrap_or_default();
    let (magic, count) = match head.as_slice() {
        [magic, count] => (*magic, *count),
        _ => {
            return Err(Error::Absent {
                record: "credential",
                what,
            });
        }
    };
    if magic != MAGIC {
        return Err(nonsense(
            format!("the mark {MAGIC:#x} of a bit string"),
            format!("{magic:#x}"),
        ));
    }
    let count = usize::try_from(count)
        .ok()
        .filter(|count| *count <= MOST && range.end <= *count);
    if count.is_none() || range.start > range.end {
        return Err(nonsense(
            format!("bits {} to {}", range.start, range.end),
            format!("{} bits", head.get(1).unwrap_or(&0)),
        ));
    }
    let (first, end) = (range.start / 64, range.end.div_ceil(64));
    // SAFETY: `range` ends inside the bits, so these words are part of the string.
    let words = unsafe { items(bits.wrapping_add(2 + first), end.saturating_sub(first)) }
        .unwrap_or_default();
    Ok(positions(&words, first * 64, &range))
}

/// Positions of set bits in `words`, whose first bit is number `base`, relative to the range.
fn positions(words: &[i64], base: usize, range: &Range<usize>) -> Vec<u32> {
    let mut found = Vec::new();
    for (index, word) in words.iter().enumerate() {
        let mut rest = *word as u64;
        while rest != 0 {
            let bit = base + index * 64 + rest.trailing_zeros() as usize;
            rest &= rest - 1;
            if range.contains(&bit) {
                found.extend(u32::try_from(bit - range.start));
            }
        }
    }
    found
}
