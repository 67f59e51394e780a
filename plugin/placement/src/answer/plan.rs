//! What every task of a step gets, and the decision behind it. No text: the launch message is
//! written from it ([`crate::answer::message`]). Pure data.

use crate::answer::cores::Chosen;
use crate::answer::cpuset::ChosenSet;
use crate::answer::decision::Decision;
use crate::answer::message::MaskList;
use crate::answer::near::Nearby;
use crate::answer::note::Note;
use crate::request::cpu_bind::{Level, Mode};
use crate::sets::cpuset::CpuSet;
use crate::sets::cpuset_text::Digits;
use crate::sets::nodeset::NodeSet;

/// What every task of a step gets on this node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What is set in the kernel, by local id; empty sets where nothing is bound.
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
            masks.push(task.mems.as_ref()?.as_cpus());
        }
        Some(MaskList::new(masks.into_iter(), 1, Digits::Lower).text())
    }

    /// The tasks' masks as in the message; `None` if the message has none of ours.
    #[must_use]
    pub fn masks(&self) -> Option<MaskList<'_, impl Iterator<Item = &CpuSet> + Clone>> {
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
