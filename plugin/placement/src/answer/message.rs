//! The tasks' masks as a list: the text of a plan in a launch message.
//! In: one mask per task. Out: the text, and its length beforehand. Pure.
//!
//! task/affinity writes one mask per task, each as wide as the node (`lllp_generate_cpu_bind`). With
//! tens of thousands of tasks on thousands of CPUs that is tens of megabytes, which slurmstepd
//! would not read. Such a list is written without leading zeros and with repeats for equal
//! neighbours, and it ends where it would begin again.

use std::fmt;

use crate::sets::cpuset::CpuSet;
use crate::sets::cpuset_text::{Digits, hex_length};
use crate::sets::limits::LIST_BYTES;

/// Masks in the order of tasks, each with its number of successive tasks. A list that is shorter
/// than there are tasks begins again.
pub struct MaskList<'a> {
    parts: Vec<(&'a CpuSet, u32)>,
    /// Bits that each mask is padded to.
    width: u32,
    digits: Digits,
    length: usize,
}

impl<'a> MaskList<'a> {
    /// `masks` are those of all tasks.
    pub(crate) fn new(
        masks: impl Iterator<Item = &'a CpuSet> + Clone,
        width: u32,
        digits: Digits,
    ) -> Self {
        let plain = |mask: &CpuSet| hex_length(mask.width().max(width)) + 1;
        let length: usize = masks.clone().map(plain).sum();
        if length <= LIST_BYTES {
            return Self {
                parts: masks.map(|mask| (mask, 1)).collect(),
                width,
                digits,
                length: length.saturating_sub(1),
            };
        }
        let mut masks: Vec<_> = masks.collect();
        masks.truncate(period(&masks));
        let runs = masks.chunk_by(|one, next| one == next);
        let parts: Vec<_> = runs.map(|run| (run[0], run.len() as u32)).collect();
        Self {
            length: length_of(&parts),
            parts,
            width: 1,
            digits,
        }
    }

    /// How many characters the text has.
    #[must_use]
    pub fn length(&self) -> usize {
        self.length
    }

    /// Masks with commas between, repeats as `*count`.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut impl fmt::Write) -> fmt::Result {
        for (at, (mask, count)) in self.parts.iter().enumerate() {
            out.write_str(if at > 0 { "," } else { "" })?;
            mask.write_mask(self.width, self.digits, out)?;
            if *count > 1 {
                write!(out, "*{count}")?;
            }
        }
        Ok(())
    }

    /// The text in memory of its own.
    pub(crate) fn text(&self) -> String {
        let mut text = String::with_capacity(self.length());
        // A String takes everything.
        let _ = self.write(&mut text);
        text
    }
}

/// Characters of a list with repeats, without leading zeros.
fn length_of(parts: &[(&CpuSet, u32)]) -> usize {
    let part = |(mask, count): &(&CpuSet, u32)| {
        let repeat = match count {
            1 => 0,
            _ => count.ilog10() as usize + 2,
        };
        hex_length(mask.width().max(1)) + repeat + 1
    };
    let all: usize = parts.iter().map(part).sum();
    all.saturating_sub(1)
}

/// After how many entries the list begins again: the least number by which it can be moved onto
/// itself. (The longest border of each beginning, by Knuth, Morris and Pratt.)
fn period<T: PartialEq>(list: &[T]) -> usize {
    let mut borders = vec![0; list.len()];
    let mut border = 0;
    for at in 1..list.len() {
        while border > 0 && list[at] != list[border] {
            border = borders[border - 1];
        }
        border += usize::from(list[at] == list[border]);
        borders[at] = border;
    }
    list.len() - borders.last().unwrap_or(&0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::cpu_bind::Mode;
    use crate::sets::ids::CpuId;

    #[test]
    fn where_a_list_begins_again() {
        for (text, length) in [
            ("", 0),
            ("a", 1),
            ("aaaa", 1),
            ("abab", 2),
            ("ababa", 2),
            ("abac", 4),
            ("aabaaab", 4),
        ] {
            assert_eq!(period(text.as_bytes()), length, "{text}");
        }
    }

    #[test]
    fn long_lists_mean_what_short_ones_mean() {
        let one = |cpu| CpuSet::from_iter([CpuId(cpu)]);
        let rank: Vec<_> = (0..65_535).map(|task| one(task % 4096)).collect();
        let mut blocks: Vec<_> = (0..65_535).map(|task| one(task / 16)).collect();
        blocks[3] = CpuSet::first(4096);
        for masks in [&rank[..4000], &rank, &blocks] {
            let list = MaskList::new(masks.iter(), 4096, Digits::Upper);
            let text = list.text();
            assert_eq!(text.len(), list.length());
            assert!(text.len() <= LIST_BYTES, "{}", text.len());
            let Mode::MaskCpu(read) = Mode::read("mask_cpu", &text).unwrap().unwrap() else {
                panic!("no list of masks");
            };
            let same = |(task, mask): (u32, &CpuSet)| read.of_task(task) == Some(mask);
            assert!((0..).zip(masks).all(same));
        }
        let few: Vec<_> = [3, 3, 0].map(one).to_vec();
        let list = MaskList::new(few.iter(), 12, Digits::Upper);
        assert_eq!(list.text(), "0x008,0x008,0x001");
    }
}
