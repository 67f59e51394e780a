//! The ledger of bound cores on this node: Grid Engine's accounting for
//! `--binding`. slurmd (or slurmstepd, if slurmd does not plan) writes an entry when it plans a
//! step. slurmstepd puts its own number into it, and the entry ends with that process, however
//! it ends. Nothing here waits for a disk, and nothing is trusted that a user could have
//! written. If the ledger fails, the caller reports the error and the launch goes on; only a step that
//! waits for the CPUs of others is refused.
//!
//! Read in this order: [`record`], [`mod@file`], [`process`], [`rule`], [`questions`], [`confirm`],
//! [`mod@claim`].
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
//! session.add(Entry { step: mine, cpus: cpus.clone(), ..Entry::default() })?;
//! drop(session);
//!
//! let other = StepKey { job: 2, ..mine };
//! let mut session = ledger.session(Duration::from_secs(1))?;
//! assert!(session.others(other, &cpus).has_jobs());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod claim;
mod confirm;
mod file;
mod frozen;
mod layers;
mod process;
pub mod public;
mod questions;
mod record;
mod rule;

use std::collections::VecDeque;
use std::time::Duration;

use berth_placement::CpuSet;
use nix::time::{ClockId, clock_gettime};

pub use self::claim::{Claimed, claim};
pub use self::confirm::{Confirmed, Held};
use self::file::LedgerFile;
pub use self::file::{LedgerError, NAME};
use self::process::Watch;
pub use self::process::{Process, Task};
pub use self::questions::{Beside, content, is_suspended};
use self::record::Look;
pub use self::record::{Cpuset, Entry, Kind, StepKey, mark};
pub use self::rule::Others;
use crate::lock::Locked;
use crate::state::StateDir;

/// The time that an entry without a slurmstepd counts. A node's prolog may run for longer between
/// planning and the start; a late slurmstepd checks whether its cores are still free.
const PENDING: Duration = Duration::from_secs(60);
/// The same if the slurmd that planned it has ended.
const ORPHANED: Duration = Duration::from_secs(10);
/// The same once slurmd has finished the launch: its slurmstepd has been started by then, or never
/// will be. One that needs longer than this looks whether others have its cores.
const LET_GO: Duration = Duration::from_secs(3);
/// The number of launches that are remembered: more than a node starts in a minute.
const LAUNCHES: usize = 1024;
/// From this number of slots on, every entry's process is checked, to find slots of dead steps.
const MANY_SLOTS: usize = 1024;
/// The time that slurmd's hook tries to get the lock, which others keep for one write.
const AT_ONCE: Duration = Duration::from_micros(100);

/// An open ledger.
#[derive(Debug)]
pub struct Ledger {
    file: LedgerFile,
    watch: Watch,
    own: Process,
    let_go: LetGo,
    /// Whether the job that confirms an entry is in a pool.
    is_in_pool: bool,
}

/// When slurmd has done with its last launches.
type LetGo = VecDeque<(StepKey, u64)>;

/// The ledger as it was read, locked or not.
#[derive(Debug)]
pub struct Session<'a> {
    file: &'a LedgerFile,
    watch: &'a mut Watch,
    own: Process,
    let_go: &'a LetGo,
    slots: Vec<u64>,
    /// The time just before they were read.
    read_at: u64,
    /// A slot that nobody uses, or the first one after the last.
    free: usize,
    /// Whether that one is an expired entry, whose slurmstepd may come late.
    expired: bool,
    lock: Option<Locked<'a>>,
    /// Whether the job that asks is in a pool.
    is_in_pool: bool,
}

impl Ledger {
    /// Opens the ledger of a node, and makes it if it is missing.
    ///
    /// # Errors
    /// [`LedgerError`]; the caller then goes on without accounting, and reports it.
    pub fn open(dir: &StateDir) -> Result<Self, LedgerError> {
        Ok(Self {
            file: LedgerFile::open(dir)?,
            watch: Watch::default(),
            own: Process::own(),
            let_go: LetGo::with_capacity(LAUNCHES),
            is_in_pool: false,
        })
    }

    /// The same for a job that confirms its entry and is in a pool, or not: nobody but an exclusive cpuset takes a
    /// pool job's CPUs.
    #[must_use]
    pub fn for_pool(self, is_in_pool: bool) -> Self {
        Self { is_in_pool, ..self }
    }

    /// slurmd has finished a launch, whatever its result. Other processes do not know of this.
    pub fn let_go(&mut self, step: StepKey) {
        if self.let_go.len() == LAUNCHES {
            self.let_go.pop_front();
        }
        self.let_go.push_back((step, now()));
    }

    /// Whether its name still leads to it.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.file.is_current()
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
    pub fn session(&mut self, patience: Duration) -> Result<Session<'_>, LedgerError> {
        let lock = self.file.lock(patience)?;
        Session::read(
            (&self.file, Some(lock)),
            &mut self.watch,
            (self.own, &self.let_go),
        )
    }

    /// The same for slurmd's hook, which never sleeps: if another process keeps the lock
    /// for longer than a moment, the ledger is only read.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn session_now(&mut self) -> Result<Session<'_>, LedgerError> {
        let lock = self.file.try_lock(AT_ONCE)?;
        Session::read(
            (&self.file, lock),
            &mut self.watch,
            (self.own, &self.let_go),
        )
    }

    /// The ledger as it is, unlocked: entries that are written meanwhile may be missing.
    fn unlocked(&mut self) -> Result<Session<'_>, LedgerError> {
        Session::read(
            (&self.file, None),
            &mut self.watch,
            (self.own, &self.let_go),
        )
    }
}

impl<'a> Session<'a> {
    fn read(
        (file, lock): (&'a LedgerFile, Option<Locked<'a>>),
        watch: &'a mut Watch,
        (own, let_go): (Process, &'a LetGo),
    ) -> Result<Self, LedgerError> {
        let read_at = now();
        let slots = file.read_all()?;
        let free = slots
            .chunks_exact(file.words)
            .position(|slot| !record::is_used(slot));
        Ok(Session {
            free: free.unwrap_or(slots.len() / file.words),
            expired: false,
            file,
            watch,
            own,
            let_go,
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
                None if slot < self.free => (self.free, self.expired) = (slot, false),
                None => {}
            }
        }
        let stepd = |(slot, entry): &(usize, Look)| Some((*slot, entry.stepd?));
        let stepds: Vec<_> = found.iter().filter_map(stepd).collect();
        let mut alive = self.watch.alive(&stepds).into_iter();
        let (own, let_go, free) = (self.own, self.let_go, &mut self.free);
        let (expired, read_at, file) = (&mut self.expired, self.read_at, self.file);
        found.retain(|(slot, entry)| {
            let lives = match entry.stepd {
                // A number of another PID namespace has no process here, or another one.
                Some(_) => alive.next().unwrap_or(true) || file.is_kept_alive(*slot),
                // Where a process could not find out its own number, the entry has none.
                None => is_awaited(entry, read_at, (own, let_go)) || file.is_kept_alive(*slot),
            };
            if !lives && *slot < *free {
                (*free, *expired) = (*slot, entry.stepd.is_none());
            }
            lives
        });
        found
    }

    /// Writes an entry, and adds the caller's number and the time.
    ///
    /// # Errors
    /// [`LedgerError`]; `Busy` if the ledger is not locked.
    pub fn add(&mut self, mut entry: Entry) -> Result<usize, LedgerError> {
        if self.lock.is_none() {
            return Err(LedgerError::Busy(self.file.path().into()));
        }
        (entry.made, entry.maker) = (now(), self.own);
        let words = self.file.words;
        let Some(record) = record::write(&entry, words) else {
            return Err(LedgerError::TooManyCpus(self.file.path().into()));
        };
        let expired = match self.expired {
            true => self.lock_expired(self.free)?,
            false => None,
        };
        let slot = if self.expired && expired.is_none() {
            self.slots.len() / words
        } else {
            self.free
        };
        self.file.write_words(self.file.offset(slot), &record)?;
        self.took(slot, &record);
        Ok(slot)
    }

    /// The lock of an expired entry's slot; none if its slurmstepd confirms it at this moment, or has done so since the
    /// slots were read. The caller has then planned as if that entry's CPUs were free. The late slurmstepd sees the
    /// new entry as soon as the ledger is free, and gives way (`unless_taken` in [`confirm`]).
    fn lock_expired(&self, slot: usize) -> Result<Option<Locked<'a>>, LedgerError> {
        let offset = self.file.offset(slot);
        let Some(lock) = self.file.lock_byte(offset, Duration::ZERO)? else {
            return Ok(None);
        };
        let now = self.file.read_words(offset, self.file.words)?;
        Ok((self.record(slot) == Some(now.as_slice())).then_some(lock))
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
        (self.free, self.expired) = (free.unwrap_or(self.slots.len() / words), false);
    }

    /// Removes an entry that [`Self::add`] has written.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn remove(&self, slot: usize) -> Result<(), LedgerError> {
        self.file.write_words(self.file.offset(slot), &[0])
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
    let (mut watch, let_go) = (Watch::default(), LetGo::new());
    let mut session = Session::read((&file, None), &mut watch, (Process::own(), &let_go))?;
    Ok(session.all())
}

fn age(made: u64, then: u64) -> Duration {
    Duration::from_nanos(then.saturating_sub(made))
}

/// Whether a slurmstepd may still come for an entry that was read at this time. A slurmstepd that comes later then
/// knows that its entry may have expired. A clock that went back would be another boot, whose ledger is gone.
fn is_awaited(entry: &Look, read_at: u64, (own, let_go): (Process, &LetGo)) -> bool {
    let its = |(step, at): &&(StepKey, u64)| *step == entry.step && *at >= entry.made;
    if let Some((_, at)) = let_go.iter().rev().find(its) {
        return age(*at, read_at) < LET_GO;
    }
    let age = age(entry.made, read_at);
    let maker_lives = || entry.maker == own || entry.maker.is_alive();
    age < ORPHANED || (age < PENDING && maker_lives())
}

/// Nanoseconds since the boot, sleep included. No administrator sets this clock.
#[must_use]
pub fn now() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_BOOTTIME);
    time.map_or(0, |time| {
        time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
    })
}
