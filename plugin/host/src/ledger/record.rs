//! An entry of the ledger as it stands in the file: words of 64 bits, in three parts that
//! have one writer each. Part one, with a checksum, is written when a step is planned; its
//! slurmstepd writes part two; the first word shows whether the slot is used.
//! In: an entry or bytes. Out: the other. Pure; bytes with a wrong checksum are no entry.
//!
//! Releases of berth share the file, so a later one may add to an entry but never move anything.
//! It has room after the CPUs. This release covers that with its checksum and ignores its content.

use berth_placement::CpuSet;

use super::process::{Process, Task};

/// Bytes of a word.
pub(super) const WORD: usize = size_of::<u64>();
/// Words before the CPUs.
pub(super) const HEAD: usize = 24;
/// The step's kind: 1, 2 or 3. Cpusets and pools have the most similar kind here, and their own in [`CPU_WORDS`].
const KIND: usize = 3;
/// A cpuset, with its flags.
const CPUSET: u32 = 0xC0;
/// No other job's wish takes its CPUs.
const EXCLUSIVE: u32 = 1;
/// Every step of the job is in it, not only the one that made it.
const OF_JOB: u32 = 2;
/// It wants the memory of its NUMA nodes for itself.
const MEMORY: u32 = 4;
const FLAGS: u32 = EXCLUSIVE | OF_JOB | MEMORY;
/// The CPUs of a pool job, and no binding.
const POOL: u32 = 0xA0;
/// Where the step's kind stands beside these.
const STEP_KIND: u32 = 8;
/// How many words the CPUs have, in the lowest quarter. Releases that write 0 give them all
/// words to the slot's end. In the next quarter: a kind that the first release does not know. In the upper half: a
/// cpuset's generation. The first release ignores this word.
const CPU_WORDS: usize = 7;
/// The bits of that number.
const COUNT_BITS: u32 = 16;
const COUNT: u32 = (1 << COUNT_BITS) - 1;
/// The bit of a task's number that says that its job is suspended. Releases that do not know it see no
/// task, and count the job as running.
const SUSPENDED: u32 = 1 << 31;
/// A cpuset's mark.
const MARK: usize = 8;
/// First word of slurmstepd's part, and how many.
pub(super) const CONFIRMED: usize = 9;
pub(super) const CONFIRMED_WORDS: usize = 3;
/// The request's text, cut at this many bytes.
const REQUEST: usize = 12;
const REQUEST_BYTES: usize = (HEAD - REQUEST) * WORD;
/// The number of words in one step of the checksum.
const AT_ONCE: usize = 64;
/// The first word of a used slot, beside the checksum.
const USED: u64 = 0xBE;

/// The kind of step that is bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Started by srun, alone on its CPUs.
    #[default]
    Regular,
    /// Started by `srun --overlap`.
    Overlap,
    /// A batch script.
    Batch,
}

/// A cpuset that the step's tasks are placed in: whose it is, and whom it keeps off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cpuset {
    /// No other job's wish takes its CPUs.
    pub exclusive: bool,
    /// Every step of the job is in it, not only the one that made it.
    pub of_job: bool,
    /// It wants the memory of its NUMA nodes for itself.
    pub memory: bool,
}

/// The number of a step on one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepKey {
    /// Job.
    pub job: u32,
    /// StepKey, or Slurm's number of a batch script.
    pub step: u32,
    /// Component of a heterogeneous step, or Slurm's number for none.
    pub component: u32,
}

/// One bound step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The step.
    pub step: StepKey,
    /// Its kind.
    pub kind: Kind,
    /// If it is no binding of the step, but a cpuset.
    pub cpuset: Option<Cpuset>,
    /// If it is no binding of the step either, but the place of its job in a pool: the CPUs are the job's, and
    /// the request is the pool's name.
    pub pool: bool,
    /// Tasks on this node.
    pub tasks: u32,
    /// Nanoseconds between the boot and its planning.
    pub made: u64,
    /// The process that planned it.
    pub maker: Process,
    /// Its slurmstepd; none as long as it has not started.
    pub stepd: Option<Process>,
    /// Its first task; none as long as it has not started.
    pub task: Option<Task>,
    /// Its user, known to slurmstepd.
    pub uid: u32,
    /// The `--binding` or the `--cpuset`, cut if it is long.
    pub request: String,
    /// A cpuset's mark: equal for equal requests, whose text may be cut.
    pub mark: u64,
    /// A cpuset's generation: how often it was chosen anew since the job began.
    pub generation: u32,
    /// The CPUs of its cores.
    pub cpus: CpuSet,
}

impl Kind {
    fn number(self) -> u32 {
        match self {
            Self::Regular => 1,
            Self::Overlap => 2,
            Self::Batch => 3,
        }
    }

    /// An unknown kind counts as a regular step, so nobody else gets its CPUs.
    fn of(number: u32) -> Self {
        [Self::Regular, Self::Overlap, Self::Batch]
            .into_iter()
            .find(|kind| kind.number() == number)
            .unwrap_or_default()
    }
}

/// The values of an entry for [`KIND`] and for the second quarter of [`CPU_WORDS`]. The second one is 0 for a binding; for a
/// cpuset it has the flags.
fn kinds(entry: &Entry) -> (Kind, u32) {
    let number = entry.kind.number();
    if entry.pool {
        // The first release takes it for a step that shares its cores with its own job.
        return (Kind::Overlap, POOL | number << STEP_KIND);
    }
    let Some(cpuset) = entry.cpuset else {
        return (entry.kind, 0);
    };
    let flags = [
        (cpuset.exclusive, EXCLUSIVE),
        (cpuset.of_job, OF_JOB),
        (cpuset.memory, MEMORY),
    ];
    let set = flags.into_iter().filter(|(is_set, _)| *is_set);
    let flags = set.fold(0, |all, (_, flag)| all | flag);
    // The first release takes it for a script: other jobs keep off, the own job does not.
    (Kind::Batch, CPUSET | flags | number << STEP_KIND)
}

/// The second quarter of [`CPU_WORDS`]: 0 for a binding.
fn newer_kind(words: u64) -> u32 {
    halves(words).0 >> COUNT_BITS
}

fn is_pool(newer: u32) -> bool {
    newer == POOL | (newer >> STEP_KIND) << STEP_KIND
}

fn kind_of(kind: u64, newer: u32) -> (Kind, Option<Cpuset>) {
    let flags = newer & FLAGS;
    let number = newer >> STEP_KIND;
    if newer == CPUSET | flags | number << STEP_KIND {
        let cpuset = Cpuset {
            exclusive: flags & EXCLUSIVE != 0,
            of_job: flags & OF_JOB != 0,
            memory: flags & MEMORY != 0,
        };
        return (Kind::of(number), Some(cpuset));
    }
    (Kind::of(halves(kind).0), None)
}

/// A number for a request whose text may be too long for an entry: equal for equal texts.
#[must_use]
pub fn mark(request: &str) -> u64 {
    let again = [request.as_bytes(), &[0]].concat();
    pair(crc32fast::hash(request.as_bytes()), crc32fast::hash(&again))
}

/// The words of an entry; `None` if its CPUs need more than there are.
pub(super) fn write(entry: &Entry, words: usize) -> Option<Vec<u64>> {
    let cpus = entry.cpus.to_words();
    if HEAD + cpus.len() > words {
        return None;
    }
    let (kind, newer) = kinds(entry);
    let count = cpus.len().max(1) as u32 & COUNT;
    let mut record = vec![0; words];
    let head = [
        0,
        pair(entry.step.job, entry.step.step),
        pair(entry.step.component, entry.tasks),
        u64::from(kind.number()),
        entry.made,
        entry.maker.pid as u64,
        entry.maker.start,
        pair(count | newer << COUNT_BITS, entry.generation),
        entry.mark,
    ];
    record.get_mut(..head.len())?.copy_from_slice(&head);
    record
        .get_mut(REQUEST..HEAD)?
        .copy_from_slice(&text_words(&entry.request));
    record
        .get_mut(HEAD..HEAD + cpus.len())?
        .copy_from_slice(&cpus);
    record
        .get_mut(CONFIRMED..CONFIRMED + CONFIRMED_WORDS)?
        .copy_from_slice(&confirmed(entry));
    *record.first_mut()? = USED | u64::from(checksum(&record)) << 32;
    Some(record)
}

/// slurmstepd's part. The task's start time stands where earlier releases wrote zeros and read
/// nothing, so they and this one understand each other's entries.
pub(super) fn confirmed(entry: &Entry) -> [u64; CONFIRMED_WORDS] {
    let stepd = entry.stepd.unwrap_or_default();
    let task = entry.task.unwrap_or_default();
    let suspended = if task.suspended { SUSPENDED } else { 0 };
    [
        pair(stepd.pid as u32, task.pid as u32 | suspended),
        stepd.start,
        pair(entry.uid, task.start),
    ]
}

/// Whether a slot is used. Most slots get only this check.
pub(super) fn is_used(record: &[u64]) -> bool {
    record.first().is_some_and(|word| word & 0xff == USED)
}

/// The CPUs of a slot, unchecked.
pub(super) fn cpu_words(record: &[u64]) -> &[u64] {
    let all = record.get(HEAD..).unwrap_or_default();
    match record.get(CPU_WORDS).map(|word| halves(*word).0 & COUNT) {
        None | Some(0) => all,
        Some(count) => all.get(..count as usize).unwrap_or(all),
    }
}

/// The parts of a slot that a launch needs; `None` if the slot is free or torn.
pub(super) fn look(record: &[u64]) -> Option<Look> {
    let at = |word: usize| record.get(word).copied();
    let first = at(0)?;
    if !is_used(record) || (first >> 32) as u32 != checksum(record) {
        return None;
    }
    let (job, step) = halves(at(1)?);
    let (component, tasks) = halves(at(2)?);
    let (pid, task) = halves(at(CONFIRMED)?);
    let (uid, start) = halves(at(CONFIRMED + 2)?);
    let task = Task {
        pid: (task & !SUSPENDED) as i32,
        start,
        suspended: task & SUSPENDED != 0,
    };
    let stepd = Process {
        pid: pid as i32,
        start: at(CONFIRMED + 1)?,
    };
    let newer = newer_kind(at(CPU_WORDS)?);
    let (kind, cpuset) = kind_of(at(KIND)?, newer);
    Some(Look {
        step: StepKey {
            job,
            step,
            component,
        },
        tasks,
        kind,
        cpuset,
        generation: halves(at(CPU_WORDS)?).1,
        pool: is_pool(newer),
        mark: at(MARK)?,
        made: at(4)?,
        maker: Process {
            pid: at(5)? as i32,
            start: at(6)?,
        },
        stepd: (stepd.pid > 0).then_some(stepd),
        task: (task.pid > 0).then_some(task),
        uid,
    })
}

/// An entry without what must be copied out of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look {
    pub step: StepKey,
    pub kind: Kind,
    pub cpuset: Option<Cpuset>,
    pub generation: u32,
    pub pool: bool,
    mark: u64,
    tasks: u32,
    pub made: u64,
    pub maker: Process,
    pub stepd: Option<Process>,
    pub task: Option<Task>,
    uid: u32,
}

impl Look {
    /// Whether it is a cpuset of all steps of a job.
    pub fn is_cpuset_of(&self, job: u32) -> bool {
        self.cpuset.is_some_and(|cpuset| cpuset.of_job) && self.step.job == job
    }

    /// Whether it is a cpuset of another job that wants its memory nodes for itself.
    pub fn wants_memory(&self, job: u32) -> bool {
        self.cpuset.is_some_and(|cpuset| cpuset.memory) && self.step.job != job
    }

    /// The whole entry.
    pub fn entry(self, record: &[u64]) -> Entry {
        Entry {
            step: self.step,
            kind: self.kind,
            cpuset: self.cpuset,
            pool: self.pool,
            tasks: self.tasks,
            made: self.made,
            maker: self.maker,
            stepd: self.stepd,
            task: self.task,
            uid: self.uid,
            request: text(record.get(REQUEST..HEAD).unwrap_or_default()),
            mark: self.mark,
            generation: self.generation,
            cpus: CpuSet::from_words(cpu_words(record)),
        }
    }
}

/// The entry in a slot; `None` if the slot is free or torn.
pub(super) fn read(record: &[u64]) -> Option<Entry> {
    look(record).map(|look| look.entry(record))
}

/// The checksum of the planner's words, except word 0.
fn checksum(record: &[u64]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    let parts = [1..CONFIRMED, CONFIRMED + CONFIRMED_WORDS..record.len()];
    let words = parts
        .into_iter()
        .flat_map(|part| record.get(part).unwrap_or_default().chunks(AT_ONCE));
    for words in words {
        let mut bytes = [0; AT_ONCE * WORD];
        for (place, word) in bytes.chunks_exact_mut(WORD).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        sum.update(bytes.get(..words.len() * WORD).unwrap_or_default());
    }
    sum.finalize()
}

fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

fn halves(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}

fn text_words(text: &str) -> [u64; HEAD - REQUEST] {
    let mut end = text.len().min(REQUEST_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut words = [0; HEAD - REQUEST];
    for (at, byte) in text.bytes().take(end).enumerate() {
        if let Some(word) = words.get_mut(at / WORD) {
            *word |= u64::from(byte) << (at % WORD * 8);
        }
    }
    words
}

fn text(words: &[u64]) -> String {
    let bytes = words.iter().flat_map(|word| word.to_le_bytes());
    let bytes: Vec<u8> = bytes.take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests;
