//! Small values that several records hold, with Slurm's ways to write "not given" taken away, and Slurm's bit strings,
//! read where they stand. Source: src/common/bitstring.h: 64-bit words; magic, number of bits, then the bits from the
//! lowest of each word up. The same in every release on little-endian machines.

use std::ops::Range;

use crate::error::Error;
use crate::layout::Layout;
use crate::record::Record;

/// INFINITE16 of slurm.h, in every release; the tables carry only the constants that tell apart.
const INFINITE16: u16 = 0xffff;

/// A step's number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct StepId {
    /// The job.
    pub job_id: u32,
    /// The step in it; Slurm's highest numbers are batch script, extern and interactive step.
    pub step_id: u32,
    /// Component of a heterogeneous step.
    pub het_component: Option<u32>,
    /// The kind of step that the number means.
    pub kind: StepKind,
}

/// The kind of step that a number means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StepKind {
    /// Started by srun.
    #[default]
    Regular,
    /// The batch script.
    Batch,
    /// The step for processes from outside (pam_slurm_adopt).
    Extern,
    /// salloc's shell.
    Interactive,
}

impl StepId {
    pub(crate) fn read(record: Record, layout: &Layout) -> StepId {
        let (fields, constants) = (&layout.step_id, &layout.constants);
        let step_id = record.read(fields.step_id);
        let component = record.read(fields.step_het_comp);
        StepId {
            job_id: record.read(fields.job_id),
            step_id,
            het_component: (component != constants.NO_VAL).then_some(component),
            kind: StepKind::of(step_id, layout),
        }
    }
}

impl StepKind {
    /// The kind that a step number means.
    pub fn of(step_id: u32, layout: &Layout) -> StepKind {
        let constants = &layout.constants;
        match step_id {
            id if id == constants.SLURM_BATCH_SCRIPT => StepKind::Batch,
            id if id == constants.SLURM_EXTERN_CONT => StepKind::Extern,
            id if id == constants.SLURM_INTERACTIVE_STEP => StepKind::Interactive,
            _ => StepKind::Regular,
        }
    }
}

/// `--core-spec` or `--thread-spec`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoreSpec {
    /// Cores kept for the system; 0 if the job requests none, which Slurm treats as a request.
    Cores(u16),
    /// Threads kept for the system.
    Threads(u16),
}

impl CoreSpec {
    pub(crate) fn from_raw(raw: u16, layout: &Layout) -> Option<CoreSpec> {
        let threads = layout.constants.CORE_SPEC_THREAD;
        match u32::from(raw) {
            value if value == layout.constants.NO_VAL16 || raw == INFINITE16 => None,
            value if value & threads != 0 => Some(CoreSpec::Threads(raw & !(threads as u16))),
            _ => Some(CoreSpec::Cores(raw)),
        }
    }
}

/// A count, if the user gave one: 0, NO_VAL16 and INFINITE16 all mean "not given".
pub(crate) fn user_count(raw: u16, layout: &Layout) -> Option<u16> {
    let is_given = raw != 0 && raw != INFINITE16 && u32::from(raw) != layout.constants.NO_VAL16;
    is_given.then_some(raw)
}

/// BITSTR_MAGIC of bitstring.h.
const MAGIC: i64 = 0x4243_4445;
/// No job has more: 65535 cores on each of 65535 nodes.
const MOST: usize = u32::MAX as usize;

/// The words before the bits.
pub(crate) const BIT_STRING_HEAD: usize = 2;

/// The number of bits that a string of these first words has; `None` if it is no bit string.
pub(crate) fn bit_string_length(magic: i64, count: i64) -> Option<usize> {
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
