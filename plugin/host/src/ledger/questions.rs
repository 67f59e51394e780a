//! What else the ledger is asked: about cpusets, pools, and everything at once.
//! In: a session. Out: entries that live, or their CPUs.

use berth_placement::CpuSet;

use super::{Entry, Ledger, Session};
use crate::state::StateDir;

/// Whether Slurm has suspended a job, as far as its steps' tasks show: it suspends all of them.
#[must_use]
pub fn is_suspended(all: &[Entry], job: u32) -> bool {
    let steps = all.iter().filter(|entry| entry.step.job == job);
    let mut started = steps.filter(|entry| entry.task.is_some()).peekable();
    started.peek().is_some() && started.all(Entry::is_suspended)
}

/// The cpuset that the steps of a job have on a node now, if the ledger can be read. Nothing is locked.
#[must_use]
pub fn cpuset_of(dir: &StateDir, job: u32) -> Option<Entry> {
    Ledger::open(dir).ok()?.read().ok()?.cpuset_of(job)
}

impl Session<'_> {
    /// The CPUs of other jobs' cpusets that want the memory beside them for themselves, wherever they are:
    /// two jobs can have CPUs of one memory node without having one in common.
    #[must_use]
    pub fn memory_cpus(&self, job: u32) -> CpuSet {
        let mut all = CpuSet::new();
        for entry in self.entries.iter().filter(|entry| entry.wants_memory(job)) {
            all.insert_all(&entry.cpus);
        }
        all
    }

    /// The live cpuset of a job, if its steps have one. If there were several, the one of the latest
    /// generation that was made last.
    #[must_use]
    pub fn cpuset_of(&self, job: u32) -> Option<Entry> {
        let found = self.entries.iter().filter(|entry| entry.is_cpuset_of(job));
        found
            .max_by_key(|entry| (entry.generation, entry.made))
            .cloned()
    }

    /// What the other jobs hold that are not suspended, and do not wait.
    #[must_use]
    pub fn held_by_others(&self, job: u32) -> CpuSet {
        let runs = |entry: &&Entry| entry.step.job != job && !entry.is_stopped();
        let mut held = CpuSet::new();
        for entry in self.entries.iter().filter(runs) {
            held.insert_all(&entry.cpus);
        }
        held
    }

    /// The places of jobs in pools: one entry for each of their steps that lives.
    #[must_use]
    pub fn pools(&self) -> Vec<Entry> {
        let all = self.entries.iter();
        all.filter(|entry| entry.pool).cloned().collect()
    }
}
