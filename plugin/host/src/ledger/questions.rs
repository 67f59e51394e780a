//! What else the ledger is asked: about cpusets, pools, and everything at once.
//! In: a session. Out: entries that live, or their CPUs.

use berth_placement::CpuSet;

use super::{Entry, Session, StepKey, Task};

/// Those of an entry's CPUs that others have now. What its own job has inside the job's cpuset does not count.
fn taken(session: &Session<'_>, entry: &Entry) -> CpuSet {
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

    /// The other steps in the cpuset of a step's job, as far as they have tasks. None if there are none.
    #[must_use]
    pub fn beside(&self, step: StepKey) -> Option<Beside> {
        let is_its = |entry: &&Entry| entry.is_cpuset_of(step.job) && entry.step != step;
        let living = self.entries.iter().filter(is_its);
        let tasks = living.filter_map(|entry| Some((entry.generation, entry.task?)));
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
    #[must_use]
    pub fn is_taken(&self, job: u32) -> bool {
        let own = self.cpuset_of(job);
        let own = own.filter(|own| own.cpuset.is_some_and(|cpuset| cpuset.exclusive));
        own.is_some_and(|own| !taken(self, &own).is_empty())
    }

    /// What the other jobs that are not suspended hold, and what of that they hold exclusively.
    #[must_use]
    pub fn held_by_others(&self, job: u32) -> (CpuSet, CpuSet) {
        let (mut held, mut exclusive) = (CpuSet::new(), CpuSet::new());
        let runs =
            |entry: &&Entry| entry.step.job != job && !entry.task.is_some_and(Task::is_stopped);
        for entry in self.entries.iter().filter(runs) {
            if !entry.pool && entry.cpuset.is_none_or(|cpuset| cpuset.exclusive) {
                exclusive.insert_all(&entry.cpus);
            }
            held.insert_all(&entry.cpus);
        }
        (held, exclusive)
    }

    /// The places of jobs in pools: one entry for each of their steps that lives.
    #[must_use]
    pub fn pools(&self) -> Vec<Entry> {
        let all = self.entries.iter();
        all.filter(|entry| entry.pool).cloned().collect()
    }
}
