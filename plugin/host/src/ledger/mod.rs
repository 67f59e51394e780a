//! The ledger of bound cores on this node: Grid Engine's accounting for
//! `--binding`, cpusets and pools. slurmstepd writes an entry when it has decided a step, under the ledger's lock, and
//! the entry ends with that process, however it ends. slurmd never looks. Nothing here waits for a disk, and nothing is
//! trusted that a user could have written.
//!
//! Read in this order: [`record`], [`mod@file`], [`process`], [`rule`], [`questions`], [`mod@held`].
//!
//! ```
//! use std::time::Duration;
//!
//! use berth_host::StateDir;
//! use berth_host::ledger::{Entry, Ledger, StepKey};
//! use berth_placement::CpuSet;
//!
//! let base = tempfile::tempdir()?;
//! let dir = StateDir::new(base.path(), "n1")?;
//! dir.prepare()?;
//! let mut ledger = Ledger::open(&dir)?;
//! let mine = StepKey { job: 1, step: 0, component: u32::MAX };
//! let cpus = CpuSet::from_list("0-3")?;
//!
//! let mut session = ledger.session(Duration::from_secs(1))?;
//! assert!(!session.others(mine, &cpus).has_jobs());
//! let held = session.hold(Entry { step: mine, cpus: cpus.clone(), ..Entry::default() })?;
//! drop(session);
//!
//! let other = StepKey { job: 2, ..mine };
//! let mut session = ledger.session(Duration::from_secs(1))?;
//! assert!(session.others(other, &cpus).has_jobs());
//! drop(session);
//! held.release()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod file;
mod frozen;
mod held;
mod layers;
mod process;
pub mod public;
mod questions;
mod record;
mod rule;

use std::time::Duration;

use berth_placement::CpuSet;
use nix::time::{ClockId, clock_gettime};

use self::file::LedgerFile;
pub use self::file::{LedgerError, NAME};
pub use self::held::Held;
pub use self::process::{Process, Task};
pub use self::questions::{Beside, content, is_suspended};
use self::record::Look;
pub use self::record::{Cpuset, Entry, Kind, StepKey, mark};
pub use self::rule::Others;
use crate::lock::Locked;
use crate::state::StateDir;

/// The time that an entry without a slurmstepd counts: slurmds of the release before wrote such ones when they planned a
/// step.
const PENDING: Duration = Duration::from_secs(60);
/// From this number of slots on, every entry is checked, to find slots of dead steps.
const MANY_SLOTS: usize = 1024;

/// An open ledger.
#[derive(Debug)]
pub struct Ledger {
    file: LedgerFile,
}

/// The ledger as it was read, locked or not.
#[derive(Debug)]
pub struct Session<'a> {
    file: &'a LedgerFile,
    slots: Vec<u64>,
    /// The time just before they were read.
    read_at: u64,
    /// A slot that nobody uses, or the first one after the last.
    free: usize,
    lock: Option<Locked<'a>>,
    /// Whether the job that asks is in a pool.
    is_in_pool: bool,
}

impl Ledger {
    /// Opens the ledger of a node, and makes it if it is missing.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn open(dir: &StateDir) -> Result<Self, LedgerError> {
        let file = LedgerFile::open(dir)?;
        Ok(Self { file })
    }

    /// Whether something else stood there and was discarded.
    #[must_use]
    pub fn was_foreign(&self) -> bool {
        self.file.replaced
    }

    /// Locks the ledger, and waits no longer than `patience` for others.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn session(&self, patience: Duration) -> Result<Session<'_>, LedgerError> {
        let lock = self.file.lock(patience)?;
        Session::read(&self.file, Some(lock))
    }

    /// The ledger as it is, unlocked: entries that are written meanwhile may be missing.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn read(&self) -> Result<Session<'_>, LedgerError> {
        Session::read(&self.file, None)
    }
}

impl<'a> Session<'a> {
    fn read(file: &'a LedgerFile, lock: Option<Locked<'a>>) -> Result<Self, LedgerError> {
        let read_at = now();
        let slots = file.read_all()?;
        let mut all = slots.chunks_exact(file.words);
        let free = all.position(|slot| !record::is_used(slot));
        Ok(Session {
            free: free.unwrap_or(slots.len() / file.words),
            file,
            slots,
            read_at,
            lock,
            is_in_pool: false,
        })
    }

    /// The job that asks is in a pool, or not: a pool job gets its CPUs whoever is bound there.
    pub fn ask_for_pool(&mut self, is_in_pool: bool) {
        self.is_in_pool = is_in_pool;
    }

    /// Whether nobody else can write while this value lives. Otherwise nothing can be added.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        self.lock.is_some()
    }

    /// Whether there is no entry, of a live step or of another.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let mut records = self.slots.chunks_exact(self.file.words);
        !records.any(record::is_used)
    }

    /// The claims of other steps on these CPUs.
    pub fn others(&mut self, step: StepKey, near: &CpuSet) -> Others {
        let near = near.to_words();
        let touches = |record: &[u64]| {
            let cpus = record::cpu_words(record);
            cpus.iter().zip(&near).any(|(cpus, near)| cpus & near != 0)
        };
        let everything = self.slots.len() / self.file.words > MANY_SLOTS;
        let mut others = Others::default().for_pool(self.is_in_pool);
        for (slot, entry) in self.living(|record| everything || touches(record)) {
            if let Some(record) = self.record(slot)
                && touches(record)
            {
                others.add(step, &entry, record::cpu_words(record));
            }
        }
        others
    }

    fn record(&self, slot: usize) -> Option<&[u64]> {
        self.slots.chunks_exact(self.file.words).nth(slot)
    }

    /// The requested slots that have entries of live steps; one of the others is
    /// remembered for the next entry.
    fn living(&mut self, is_asked: impl Fn(&[u64]) -> bool) -> Vec<(usize, Look)> {
        let mut found = Vec::new();
        for (slot, record) in self.slots.chunks_exact(self.file.words).enumerate() {
            if !record::is_used(record) || !is_asked(record) {
                continue;
            }
            match record::look(record) {
                Some(entry) => found.push((slot, entry)),
                // The entry is torn: its writer died while writing, so its step never started.
                None => self.free = self.free.min(slot),
            }
        }
        let (file, read_at, free) = (self.file, self.read_at, &mut self.free);
        found.retain(|(slot, entry)| {
            let lives = file.is_kept_alive(*slot) || lives(entry, read_at);
            if !lives {
                *free = (*free).min(*slot);
            }
            lives
        });
        found
    }

    /// Writes an entry of this process, which ends with it.
    ///
    /// # Errors
    /// [`LedgerError`]; `Busy` if the ledger is not locked. Then nothing is written.
    pub fn hold(&mut self, mut entry: Entry) -> Result<Held, LedgerError> {
        if self.lock.is_none() {
            return Err(LedgerError::Busy(self.file.path().into()));
        }
        let own = Process::own();
        (entry.made, entry.maker, entry.stepd) = (now(), own, Some(own));
        let Some(record) = record::write(&entry, self.file.words) else {
            return Err(LedgerError::TooManyCpus(self.file.path().into()));
        };
        let slot = self.free;
        let file = self.file.again()?;
        file.keep_alive(slot);
        file.write_words(file.offset(slot), &record)?;
        self.took(slot, &record);
        Ok(Held::new(file, slot, entry))
    }

    /// The slot is used from now on, and the next entry gets another one.
    fn took(&mut self, slot: usize, record: &[u64]) {
        let words = self.file.words;
        match self.slots.get_mut(slot * words..(slot + 1) * words) {
            Some(known) => known.copy_from_slice(record),
            None => self.slots.extend_from_slice(record),
        }
        let mut all = self.slots.chunks_exact(words);
        let free = all.position(|slot| !record::is_used(slot));
        self.free = free.unwrap_or(self.slots.len() / words);
    }
}

/// Every bound step of a node. Nothing is made, locked or written. Only root can call it.
///
/// # Errors
/// [`LedgerError`]
pub fn look(dir: &StateDir) -> Result<Vec<Entry>, LedgerError> {
    let Some(file) = LedgerFile::look(dir)? else {
        return Ok(Vec::new());
    };
    Ok(Session::read(&file, None)?.all())
}

/// Whether an entry without a lock on its slot is of a living step. Some file systems have no such locks:
/// there an entry lives as long as its process. A number of another PID namespace has no process here.
fn lives(entry: &Look, read_at: u64) -> bool {
    match entry.stepd {
        Some(stepd) => stepd.is_alive(),
        None => Duration::from_nanos(read_at.saturating_sub(entry.made)) < PENDING,
    }
}

/// Nanoseconds since the boot, sleep included. No administrator sets this clock.
#[must_use]
pub fn now() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_BOOTTIME);
    time.map_or(0, |time| {
        time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
    })
}
