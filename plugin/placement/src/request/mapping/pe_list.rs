//! The list of `pe-list=LIST`: logical CPU numbers and ranges of them, in the user's order.
//! In: the text. Out: [`PeList`], which keeps ranges as ranges. Pure.

use std::fmt;
use std::ops::RangeInclusive;

use crate::sets::cpuset_text::parse_number;
use crate::sets::limits::{MAX_CPUS, MAX_ENTRIES};

/// Logical CPU numbers in the order in which they are named.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PeList(Vec<RangeInclusive<u32>>);

impl PeList {
    /// Reads numbers and ranges. The error is the wrong part, and what is expected there.
    pub(super) fn read(text: &str) -> Result<Self, (usize, &'static str)> {
        let mut ranges = Vec::new();
        let mut at = 0;
        let mut entries = 0_u64;
        for part in text.split(',') {
            let range = range(part).map_err(|what| (at, what))?;
            entries += u64::from(range.end() - range.start()) + 1;
            if entries > u64::from(MAX_ENTRIES) {
                return Err((at, "at most 65536 numbers"));
            }
            ranges.push(range);
            at += part.len() + 1;
        }
        Ok(Self(ranges))
    }

    /// The numbers, one after the other.
    pub fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().cloned().flatten()
    }

    /// The number of entries, with each number of a range counted.
    #[must_use]
    pub fn len(&self) -> usize {
        let length = |range: &RangeInclusive<u32>| (range.end() - range.start()) as usize + 1;
        self.0.iter().map(length).sum()
    }

    /// Whether it has no number; what was read always has one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A number or a range; the error is what is expected instead.
fn range(text: &str) -> Result<RangeInclusive<u32>, &'static str> {
    let number = |text| {
        let number = parse_number(text).filter(|number| *number < MAX_CPUS);
        number.ok_or("a CPU number or a range such as 0-3")
    };
    let Some((first, last)) = text.split_once('-') else {
        return number(text).map(|number| number..=number);
    };
    let (first, last) = (number(first)?, number(last)?);
    match first <= last {
        true => Ok(first..=last),
        false => Err("a range whose first number is not above its last, such as 1-3,"),
    }
}

impl fmt::Display for PeList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = "";
        for range in &self.0 {
            match range.start() == range.end() {
                true => write!(f, "{comma}{}", range.start())?,
                false => write!(f, "{comma}{}-{}", range.start(), range.end())?,
            }
            comma = ",";
        }
        Ok(())
    }
}
