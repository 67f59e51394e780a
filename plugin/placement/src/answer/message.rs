//! The tasks' masks as a list: the text of a plan in a launch message.
//! In: one mask per task. Out: the text, and its length beforehand. Pure.
//!
//! task/affinity writes one mask per task, each as wide as the node (`lllp_generate_cpu_bind`). With
//! tens of thousands of tasks on thousands of CPUs that is tens of megabytes, which slurmstepd
//! would not read. Such a list is written without leading zeros and with repeats for equal
//! neighbours, and it ends where it would begin again.

use crate::sets::cpuset::CpuSet;
use crate::sets::cpuset_text::{Digits, ZERO};
use crate::sets::limits::LIST_BYTES;

/// Masks in the order of tasks. A list that is shorter than there are tasks begins again.
pub struct MaskList<'a, I> {
    masks: Masks<'a, I>,
    digits: Digits,
    length: usize,
}

enum Masks<'a, I> {
    /// One for each task, padded to this number of bits.
    Each(I, u32),
    /// Without padding, each with its number of successive tasks.
    Runs(Vec<(&'a CpuSet, u32)>),
}

impl<'a, I: Iterator<Item = &'a CpuSet> + Clone> MaskList<'a, I> {
    /// `masks` are those of all tasks.
    pub(crate) fn new(masks: I, width: u32, digits: Digits) -> Self {
        let plain = |mask: &CpuSet| mask.hex_length(width) + 1;
        let length: usize = masks.clone().map(plain).sum();
        if length <= LIST_BYTES {
            return Self {
                masks: Masks::Each(masks, width),
                digits,
                length: length.saturating_sub(1),
            };
        }
        let mut masks: Vec<_> = masks.collect();
        masks.truncate(period(&masks));
        let runs = masks.chunk_by(|one, next| one == next);
        let runs: Vec<_> = runs.map(|run| (run[0], run.len() as u32)).collect();
        Self {
            length: length_of(&runs),
            masks: Masks::Runs(runs),
            digits,
        }
    }

    /// The length of the text in characters.
    #[must_use]
    pub fn length(&self) -> usize {
        self.length
    }

    /// Makes of so many zeros (the character) the masks with commas between, repeats as `*count`.
    ///
    /// # Panics
    /// Where `zeros` are fewer than [`MaskList::length`].
    pub fn put(&self, zeros: &mut [u8]) {
        let mut left = zeros;
        let mut put = |mask: &CpuSet, width: u32, count: u32| {
            let text = left.split_off_mut(..mask.hex_length(width));
            mask.put(self.digits, text.unwrap_or_default());
            if count > 1 {
                let repeat = format!("*{count}");
                let text = left.split_off_mut(..repeat.len());
                text.unwrap_or_default().copy_from_slice(repeat.as_bytes());
            }
            // None follows the last one.
            if let Some(comma) = left.split_off_first_mut() {
                *comma = b',';
            }
        };
        match &self.masks {
            Masks::Each(masks, width) => masks.clone().for_each(|mask| put(mask, *width, 1)),
            Masks::Runs(runs) => runs.iter().for_each(|(mask, count)| put(mask, 1, *count)),
        }
    }

    /// The text in memory of its own.
    pub(crate) fn text(&self) -> String {
        let mut text = vec![ZERO; self.length];
        self.put(&mut text);
        // It is ASCII.
        String::from_utf8(text).unwrap_or_default()
    }
}

/// Characters of a list with repeats, without leading zeros.
fn length_of(runs: &[(&CpuSet, u32)]) -> usize {
    let part = |(mask, count): &(&CpuSet, u32)| {
        let repeat = match count {
            1 => 0,
            _ => count.ilog10() as usize + 2,
        };
        mask.hex_length(1) + repeat + 1
    };
    let all: usize = runs.iter().map(part).sum();
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
