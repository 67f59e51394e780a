//! What else the ledger is asked: about cpusets, pools, and everything at once.
//! In: a session. Out: entries that live, or their CPUs.

use berth_placement::CpuSet;

use super::file::LedgerFile;
use super::record::{self, Look, StepKey};
use super::{Entry, LedgerError, Session, Task};
use crate::state::StateDir;

/// A number that is another one after every change of the ledger, for who waits for a change. An entry whose process
/// was killed is still written there.
///
/// # Errors
/// [`LedgerError`]
pub fn content(dir: &StateDir) -> Result<u64, LedgerError> {
    let Some(file) = LedgerFile::look(dir)? else {
        return Ok(0);
    };
    let (mut first, mut second) = (crc32fast::Hasher::new(), crc32fast::Hasher::new());
    for word in file.read_all()? {
        first.update(&word.to_le_bytes());
        second.update(&word.to_be_bytes());
    }
    Ok(u64::from(first.finalize()) << 32 | u64::from(second.finalize()))
}

/// Those of an entry's CPUs that others have now. What its own job has inside the job's cpuset does not count.
fn taken(session: &mut Session<'_>, entry: &Entry) -> CpuSet {
    let others = session.others(entry.step, &entry.cpus);
    let others = match entry.cpuset {
        Some(cpuset) if cpuset.of_job => others.for_cpuset_of_job(),
        _ => others,
    };
    let mut claims = others.now();
    if entry.cpuset.is_some_and(|cpuset| cpuset.exclusive) {
        claims.taken.insert_all(&claims.cpusets);
    }
    claims.taken.intersection(&entry.cpus)
}

/// Whether Slurm has suspended a job, as far as its steps' tasks show: it suspends all of them.
#[must_use]
pub fn is_suspended(all: &[Entry], job: u32) -> bool {
    let steps = all.iter().filter(|entry| entry.step.job == job);
    let mut tasks = steps.filter_map(|entry| entry.task).peekable();
    tasks.peek().is_some() && tasks.all(Task::is_suspended)
}

/// What the other steps in a job's cpuset do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beside {
    /// The latest generation of the cpuset that one of them has.
    pub generation: u32,
    /// Whether the tasks of one of them may run. Otherwise their job is suspended, or waits for its CPUs.
    pub runs: bool,
}

impl Session<'_> {
    /// The CPUs of other jobs' cpusets that want the memory beside them for themselves, wherever they are:
    /// two jobs can have CPUs of one memory node without having one in common.
    pub fn memory_cpus(&mut self, job: u32) -> CpuSet {
        let wants =
            |record: &[u64]| record::look(record).is_some_and(|look| look.wants_memory(job));
        let mut all = CpuSet::new();
        for (slot, _) in self.living(wants) {
            if let Some(record) = self.record(slot) {
                all.insert_all(&CpuSet::from_words(record::cpu_words(record)));
            }
        }
        all
    }

    /// The live cpuset of a job, if its steps have one. If there were several, the one of the latest
    /// generation that was made last.
    pub fn cpuset_of(&mut self, job: u32) -> Option<Entry> {
        let is_its =
            |record: &[u64]| record::look(record).is_some_and(|look| look.is_cpuset_of(job));
        let found = self.living(is_its).into_iter();
        let (slot, look) = found.max_by_key(|(_, look)| (look.generation, look.made))?;
        Some(look.entry(self.record(slot)?))
    }

    /// The other steps in the cpuset of a step's job, as far as they have tasks. None if there are none.
    pub fn beside(&mut self, step: StepKey) -> Option<Beside> {
        let is_its = |record: &[u64]| {
            record::look(record)
                .is_some_and(|look| look.is_cpuset_of(step.job) && look.step != step)
        };
        let living = self.living(is_its).into_iter();
        let tasks = living.filter_map(|(_, look)| Some((look.generation, look.task?)));
        tasks.fold(None, |all: Option<Beside>, (generation, task)| {
            let before = all.unwrap_or(Beside {
                generation,
                runs: false,
            });
            Some(Beside {
                generation: before.generation.max(generation),
                runs: before.runs || !task.suspended,
            })
        })
    }

    /// Whether others have CPUs of a job's exclusive cpuset: they got them while the job's only step still counted as
    /// suspended, and another one was planned beside it.
    pub fn is_taken(&mut self, job: u32) -> bool {
        let own = self.cpuset_of(job);
        let own = own.filter(|own| own.cpuset.is_some_and(|cpuset| cpuset.exclusive));
        own.is_some_and(|own| !taken(self, &own).is_empty())
    }

    /// What the other jobs that are not suspended hold, and what of that they hold exclusively.
    pub fn held_by_others(&mut self, job: u32) -> (CpuSet, CpuSet) {
        let (mut held, mut exclusive) = (CpuSet::new(), CpuSet::new());
        for (slot, look) in self.living(|_| true) {
            let runs = look.step.job != job && !look.task.is_some_and(Task::is_stopped);
            let Some(record) = self.record(slot).filter(|_| runs) else {
                continue;
            };
            let cpus = CpuSet::from_words(record::cpu_words(record));
            if !look.pool && look.cpuset.is_none_or(|cpuset| cpuset.exclusive) {
                exclusive.insert_all(&cpus);
            }
            held.insert_all(&cpus);
        }
        (held, exclusive)
    }

    /// The places of jobs in pools: one entry for each of their steps that lives.
    pub fn pools(&mut self) -> Vec<Entry> {
        let is_pool = |record: &[u64]| record::look(record).is_some_and(|look| look.pool);
        let living = self.living(is_pool);
        let entry = |(slot, entry): (usize, Look)| Some(entry.entry(self.record(slot)?));
        living.into_iter().filter_map(entry).collect()
    }

    /// Every live entry.
    pub fn all(&mut self) -> Vec<Entry> {
        let living = self.living(|_| true);
        let entry = |(slot, entry): (usize, Look)| Some(entry.entry(self.record(slot)?));
        living.into_iter().filter_map(entry).collect()
    }
}
