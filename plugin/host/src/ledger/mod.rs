//! The ledger of bound cores on this node: Grid Engine's accounting for
//! `--binding`, cpusets and pools. slurmstepd writes an entry when it has decided a step, under the ledger's lock, and
//! the entry ends with that process, however it ends. slurmd never looks. Nothing here waits for a disk, and nothing is
//! trusted that a user could have written.
//!
//! Read in this order: [`entry`], [`steps`], [`process`], [`rule`], [`queries`].
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

mod entry;
mod old_table;
mod process;
pub mod queries;
mod rule;
mod step_cgroup;
mod steps;

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use thiserror::Error;

pub use self::entry::{Cpuset, Entry, Kind, StepKey, TaskCgroup};
pub use self::process::{Process, Task};
pub use self::queries::{cpuset_of, is_suspended};
pub use self::rule::Others;
pub use self::steps::NAME;
pub use self::steps::OwnEntry;
use crate::lock::{self, Locked};
use crate::state::StateDir;
use crate::trust::{self, TrustError};

/// The time that a job may take to stop when Slurm suspends it: the default `suspend_grace_time`, and 3 s. No layout
/// table has the site's own.
pub const GRACE: Duration = Duration::from_secs(5);

/// The file that is locked while the ledger is read and written.
const LOCK: &str = "steps.lock";
const LOCK_MODE: u32 = 0o600;
/// Its byte for the ledger as a whole.
const WHOLE: u64 = 0;
/// Its byte for the process that reads the ledger and writes the public file.
const PUBLIC: u64 = 1;
/// Its byte for the service: its sign of life.
const SERVICE: u64 = 2;

/// A ledger that cannot be used.
#[derive(Debug, Error)]
pub enum LedgerError {
    /// A system call failed.
    #[error(
        "the ledger {path} could not be used: {action} failed: {why}; check that its directory \
         exists, is writable, and has room (ls -ld, df)"
    )]
    System {
        /// The file.
        path: PathBuf,
        /// The action that failed.
        action: &'static str,
        /// The system's error.
        why: io::Error,
    },
    /// Somebody else could have written it.
    #[error("the ledger cannot be trusted: {0}")]
    Untrusted(#[from] TrustError),
    /// Another process keeps the lock.
    #[error(
        "another process holds the ledger {0} for too long; check which slurmstepd is stopped (ps -e -o pid,stat,args)"
    )]
    Busy(PathBuf),
    /// A file of the ledger was removed or replaced.
    #[error(
        "{0} is no longer there, and other steps may be bound to the same cores; let nobody remove it"
    )]
    Lost(PathBuf),
}

/// An open ledger.
#[derive(Debug)]
pub struct Ledger {
    dir: PathBuf,
    steps: PathBuf,
    path: PathBuf,
    file: File,
}

/// The ledger as it was read, locked or not.
#[derive(Debug)]
pub struct Session<'a> {
    ledger: &'a Ledger,
    entries: Vec<Entry>,
    lock: Option<Locked<'a>>,
    /// Whether the job that asks is in a pool.
    is_in_pool: bool,
    has_service: bool,
}

/// As long as this value exists, others see that the node's service runs. It ends with its process at the latest.
#[derive(Debug)]
pub struct ServiceLife {
    _file: File,
}

impl Ledger {
    /// Opens the ledger of a node, and makes it if it is missing.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn open(dir: &StateDir) -> Result<Self, LedgerError> {
        let path = dir.path().join(LOCK);
        let failed = |action, why| LedgerError::System {
            path: path.clone(),
            action,
            why,
        };
        trust::check_directory(dir.path())?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = trust::open(&path, options.mode(LOCK_MODE));
        let file = file.map_err(|why| failed("opening it", why))?;
        let found = file
            .metadata()
            .map_err(|why| failed("looking at it", why))?;
        trust::check_private_file(&path, &found)?;
        let steps = dir.path().join(NAME);
        steps::make(&steps).map_err(|why| failed("making the folder of steps", why))?;
        trust::check_directory(&steps)?;
        Ok(Self {
            dir: dir.path().into(),
            steps,
            path,
            file,
        })
    }

    /// Locks the ledger, and waits no longer than `patience` for others. The files of steps that have ended are removed.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn session(&self, patience: Duration) -> Result<Session<'_>, LedgerError> {
        let lock = self.lock_byte(WHOLE, patience)?;
        let lock = lock.ok_or_else(|| LedgerError::Busy(self.path.clone()))?;
        if !trust::is_at(&self.path, &self.file) {
            return Err(LedgerError::Lost(self.path.clone()));
        }
        Session::read(self, Some(lock))
    }

    /// The ledger as it is, unlocked: entries that are written meanwhile may be missing.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn read(&self) -> Result<Session<'_>, LedgerError> {
        Session::read(self, None)
    }

    /// For the service of the node: it lives from now on. None if another one does.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn into_service(self) -> Result<Option<ServiceLife>, LedgerError> {
        let locked = lock::own(&self.file, SERVICE);
        let locked = locked.map_err(|why| self.failed("locking it", why))?;
        Ok(locked.then_some(ServiceLife { _file: self.file }))
    }

    /// Whether a service moves cpusets on this node. If the kernel does not answer, none does.
    #[must_use]
    pub fn has_service(&self) -> bool {
        lock::is_held(&self.file, SERVICE).unwrap_or(false)
    }

    fn lock_byte(&self, byte: u64, patience: Duration) -> Result<Option<Locked<'_>>, LedgerError> {
        lock::wait(&self.file, byte, patience).map_err(|why| self.failed("locking it", why))
    }

    fn failed(&self, action: &'static str, why: io::Error) -> LedgerError {
        LedgerError::System {
            path: self.path.clone(),
            action,
            why,
        }
    }
}

impl<'a> Session<'a> {
    fn read(ledger: &'a Ledger, lock: Option<Locked<'a>>) -> Result<Self, LedgerError> {
        let found = living(&ledger.dir, &ledger.steps);
        let found = found.map_err(|why| ledger.failed("reading the steps", why))?;
        if lock.is_some() {
            // One that stays is dead at the next look too.
            found
                .dead
                .iter()
                .for_each(|dead| drop(fs::remove_file(dead)));
        }
        Ok(Session {
            ledger,
            entries: found.living,
            lock,
            is_in_pool: false,
            has_service: ledger.has_service(),
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

    /// Whether a service moves cpusets on this node: only then a suspended job's cpuset is free for others.
    #[must_use]
    pub fn has_service(&self) -> bool {
        self.has_service
    }

    /// Every live entry.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// For the service: another entry stands for this one from now on.
    ///
    /// # Errors
    /// [`LedgerError`]; `Busy` if the ledger is not locked. Then nothing is written.
    pub fn change(&mut self, before: &Entry, after: &Entry) -> Result<(), LedgerError> {
        let ledger = self.ledger;
        let Some(file) = before.file.as_ref().filter(|_| self.is_locked()) else {
            return Err(LedgerError::Busy(ledger.path.clone()));
        };
        steps::change(file, after).map_err(|why| ledger.failed("writing a step", why))?;
        let is_it = |entry: &&mut Entry| entry.file.as_ref() == Some(file);
        if let Some(entry) = self.entries.iter_mut().find(is_it) {
            *entry = after.clone();
        }
        Ok(())
    }

    /// Writes an entry of this process, which ends with it and its tasks.
    ///
    /// # Errors
    /// [`LedgerError`]; `Busy` if the ledger is not locked. Then nothing is written.
    pub fn hold(&mut self, entry: Entry) -> Result<OwnEntry, LedgerError> {
        let ledger = self.ledger;
        if self.lock.is_none() {
            return Err(LedgerError::Busy(ledger.path.clone()));
        }
        let mut entry = Entry {
            made: now(),
            stepd: Some(Process::own()),
            cgroup: step_cgroup::of(0),
            ..entry
        };
        let written = steps::write(&ledger.steps, &mut entry);
        let (file, path) = written.map_err(|why| ledger.failed("writing a step", why))?;
        self.entries.push(entry.clone());
        Ok(OwnEntry::new(file, path, entry))
    }
}

fn living(dir: &Path, steps: &Path) -> io::Result<steps::StepEntries> {
    let mut found = steps::read(steps)?;
    found.living.extend(old_table::living(dir)?);
    Ok(found)
}

/// Whether a service moves the cpusets of a node. Nothing is made.
#[must_use]
pub fn has_service(dir: &StateDir) -> bool {
    let file = trust::open(&dir.path().join(LOCK), OpenOptions::new().read(true));
    file.is_ok_and(|file| lock::is_held(&file, SERVICE).unwrap_or(false))
}

/// Removes the files of steps whose slurmstepd was killed, if nobody has the ledger at this moment.
pub fn tidy(dir: &StateDir) {
    if dir.path().join(NAME).exists()
        && let Ok(ledger) = Ledger::open(dir)
    {
        drop(ledger.session(Duration::ZERO));
    }
}

/// Every bound step of a node. Nothing is made, locked or written. Only root can call it.
///
/// # Errors
/// [`LedgerError`]
pub fn look(dir: &StateDir) -> Result<Vec<Entry>, LedgerError> {
    let steps = dir.path().join(NAME);
    let failed = |why| LedgerError::System {
        path: steps.clone(),
        action: "reading it",
        why,
    };
    match trust::check_directory(&steps) {
        Err(TrustError::Look { why, .. }) if why.kind() == io::ErrorKind::NotFound => {}
        checked => checked?,
    }
    let found = living(dir.path(), &steps).map_err(failed)?;
    Ok(found.living)
}

/// Nanoseconds since the boot, sleep included. No administrator sets this clock.
#[must_use]
pub fn now() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_BOOTTIME);
    time.map_or(0, |time| {
        time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
    })
}
