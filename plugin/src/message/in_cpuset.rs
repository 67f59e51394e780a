//! The cpuset that a step runs in, as slurmd tells slurmstepd. In: the cpuset. Out: fields of the handover, and
//! back.

use berth_placement::{CpuSet, NodeSet, SetMemory};

use crate::message::fields::{self, Fields, field, number, unreadable};

/// A cpuset that a step runs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InCpuset {
    pub cpus: CpuSet,
    /// Its line in LSF's form, for the log and the tasks. Nothing is ever read from this text.
    pub line: String,
    /// Its memory nodes, and what they mean.
    pub mems: NodeSet,
    pub memory: SetMemory,
    /// Its entry in the ledger; the site's own cpusets have none.
    pub held: Option<InLedger>,
    /// The request that chose it, for the day on which its job is resumed; empty for the site's own.
    pub asked: String,
    /// Whether others had some of its CPUs when slurmd planned the step, and may just be being suspended.
    pub is_held: bool,
    /// Whether the tasks must not wait, because a debugger starts them.
    pub is_debugged: bool,
}

/// A cpuset's entry in the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InLedger {
    pub exclusive: bool,
    pub of_job: bool,
    pub memory: bool,
    pub mark: u64,
}

/// The fields of a cpuset's memory; without one of them memory comes from everywhere.
pub(super) const MEMORY: [(SetMemory, &str); 3] = [
    (SetMemory::Preferred, " cpuset-prefers="),
    (SetMemory::Only { swap: true }, " cpuset-mems="),
    (SetMemory::Only { swap: false }, " cpuset-mems-kill="),
];

impl InCpuset {
    pub(super) fn put(&self, text: &mut String) {
        text.push_str(" cpuset=");
        // A String takes everything.
        let _ = self.cpus.write_list(text);
        field(text, " cpuset-line=", &self.line);
        if !self.asked.is_empty() {
            field(text, " cpuset-asked=", &self.asked);
        }
        if self.is_debugged {
            text.push_str(" cpuset-debugged=1");
        }
        if self.is_held {
            text.push_str(" cpuset-held=1");
        }
        if let Some((_, word)) = MEMORY.iter().find(|(memory, _)| *memory == self.memory) {
            field(text, word, &self.mems.to_hex());
        }
        if let Some(held) = &self.held {
            number(text, " cpuset-mark=", held.mark);
            let flags = [
                (held.exclusive, " cpuset-exclusive=1"),
                (held.of_job, " cpuset-job=1"),
                (held.memory, " cpuset-memory=1"),
            ];
            let set = flags.into_iter().filter(|(is_set, _)| *is_set);
            set.for_each(|(_, word)| text.push_str(word));
        }
    }

    /// The cpuset in a handover's fields; none if there is none.
    pub(super) fn read(from: &Fields<'_>) -> Result<Option<Self>, String> {
        let Some(list) = from.value("cpuset") else {
            return Ok(None);
        };
        let cpus = fields::cpus("cpuset", &list)?;
        let held = from.read("cpuset-mark")?.map(|mark| InLedger {
            mark,
            exclusive: from.value("cpuset-exclusive").is_some(),
            of_job: from.value("cpuset-job").is_some(),
            memory: from.value("cpuset-memory").is_some(),
        });
        let field = |word: &str| from.value(word.trim_matches([' ', '=']));
        let mut memory = MEMORY.iter();
        let memory = memory.find_map(|(memory, word)| Some((*memory, field(word)?)));
        let (memory, mems) = memory.unwrap_or((SetMemory::Open, "0x0".into()));
        Ok(Some(Self {
            cpus,
            memory,
            mems: NodeSet::from_hex(&mems).map_err(|_| unreadable("cpuset-mems"))?,
            line: from.text("cpuset-line"),
            held,
            asked: from.text("cpuset-asked"),
            is_held: from.value("cpuset-held").is_some(),
            is_debugged: from.value("cpuset-debugged").is_some(),
        }))
    }
}
