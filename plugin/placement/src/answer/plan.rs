//! The plan of a step: each task's CPUs and memory, and the decision behind it; and the launch message written from it.
//! In: masks. Out: [`Plan`], [`MaskList`]. Pure.
//!
//! task/affinity writes one mask per task, each as wide as the node (`lllp_generate_cpu_bind`). With
//! tens of thousands of tasks on thousands of CPUs that is tens of megabytes, which slurmstepd
//! would not read. Such a list is written without leading zeros and with repeats for equal
//! neighbours, and it ends where it would begin again.

use crate::answer::cores::Chosen;
use crate::answer::cpuset::ChosenSet;
use crate::answer::decision::Decision;
use crate::answer::near::Nearby;
use crate::answer::note::Note;
use crate::request::cpu_bind::{Level, Mode};
use crate::sets::cpuset::{CpuSet, NodeSet, Set};
use crate::sets::cpuset_text::{Digits, ZERO};
use crate::sets::ids::CpuId;
use crate::sets::limits::LIST_BYTES;

/// The plan of a step on this node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Each task's sets for the kernel, by local id; empty where nothing is bound.
    pub tasks: Vec<TaskPlan>,
    /// Why the plan is so.
    pub decision: Decision,
    /// The content of the launch message.
    pub message: Message,
    /// Notes to the user.
    pub notes: Vec<Note>,
    /// The cores that a `--binding` chose.
    pub chosen: Option<Chosen>,
    /// The cpuset of the step's job on this node.
    pub cpuset: Option<ChosenSet>,
    /// The devices that a `--near` gave to each task.
    pub near: Option<Nearby>,
    /// Every CPU of the step's cores on this node. Lists that task/affinity trusts can name others, and no task is bound
    /// to those; its memory domains can have others too.
    pub own: CpuSet,
}

/// One task's part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskPlan {
    /// CPUs by kernel number.
    pub cpus: CpuSet,
    /// NUMA nodes its memory comes from; `None` leaves it to the kernel.
    pub mems: Option<NodeSet>,
    /// Memory comes from the one node in `mems` first, and from others when it is full.
    pub prefer: bool,
}

impl TaskPlan {
    /// A task whose memory is left to the kernel.
    pub(crate) fn on(cpus: CpuSet) -> Self {
        Self {
            cpus,
            mems: None,
            prefer: false,
        }
    }
}

/// The new `cpu_bind` of the launch message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Nothing is bound: the type stays `none`.
    Unbound,
    /// The user's own list, unchanged.
    AsAsked(Mode),
    /// The user's own list of masks, checked and written again.
    Rewritten(Mode),
    /// One mask per task, each padded to this number of bits.
    Each {
        /// Bits.
        width: u32,
    },
    /// One mask for all tasks.
    Shared {
        /// Bits that it is padded to.
        width: u32,
        /// task/affinity leaves the level's bit beside the mask here.
        keep_level: Option<Level>,
    },
}

impl Plan {
    /// The tasks' NUMA nodes as hexadecimal masks in local-id order, one per task;
    /// `None` where memory is left to the kernel.
    #[must_use]
    pub fn memory_masks(&self) -> Option<String> {
        // Most plans bind no memory.
        self.tasks.first()?.mems.as_ref()?;
        let mut masks = Vec::with_capacity(self.tasks.len());
        for task in &self.tasks {
            masks.push(task.mems.as_ref()?);
        }
        Some(MaskList::new(masks.into_iter(), 1, Digits::Lower).text())
    }

    /// The tasks' masks as in the message; `None` if the message has none of ours.
    #[must_use]
    pub fn masks(&self) -> Option<MaskList<'_, CpuId, impl Iterator<Item = &CpuSet> + Clone>> {
        let (count, width) = match self.message {
            Message::Each { width } => (self.tasks.len(), width),
            Message::Shared { width, .. } => (1, width),
            Message::Unbound | Message::AsAsked(_) | Message::Rewritten(_) => return None,
        };
        let masks = self.tasks.iter().take(count).map(|task| &task.cpus);
        Some(MaskList::new(masks, width, Digits::Upper))
    }

    /// The text as it stands in the message; `None` where nothing is bound.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        match &self.message {
            Message::Unbound => None,
            Message::AsAsked(list) | Message::Rewritten(list) => Some(list.list_text()),
            Message::Each { .. } | Message::Shared { .. } => self.masks().map(|list| list.text()),
        }
    }

    /// Whether any task is bound.
    #[must_use]
    pub fn is_bound(&self) -> bool {
        self.message != Message::Unbound
    }
}

/// Masks in the order of tasks. A list that is shorter than there are tasks begins again.
pub struct MaskList<'a, T, I> {
    masks: Masks<'a, T, I>,
    digits: Digits,
    length: usize,
}

enum Masks<'a, T, I> {
    /// One for each task, padded to this number of bits.
    Each(I, u32),
    /// Without padding, each with its number of successive tasks.
    Runs(Vec<(&'a Set<T>, u32)>),
}

impl<'a, T: Eq, I: Iterator<Item = &'a Set<T>> + Clone> MaskList<'a, T, I> {
    /// `masks` are those of all tasks.
    pub(crate) fn new(masks: I, width: u32, digits: Digits) -> Self {
        let plain = |mask: &Set<T>| mask.hex_length(width) + 1;
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
        let mut put = |mask: &Set<T>, width: u32, count: u32| {
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
fn length_of<T>(runs: &[(&Set<T>, u32)]) -> usize {
    let part = |(mask, count): &(&Set<T>, u32)| {
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
