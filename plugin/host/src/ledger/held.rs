//! An entry of this process, until its step ends. The entry ends with the process, however it ends.

use std::time::Duration;

use berth_placement::CpuSet;

use super::file::LedgerFile;
use super::process::Task;
use super::record::{self, Entry};
use super::{LedgerError, Session};
use crate::lock::Locked;

/// The time to wait for others, who keep a slot's lock for one write.
const PATIENCE: Duration = Duration::from_secs(1);

/// An entry that was written, until its step ends.
#[derive(Debug)]
pub struct Held {
    file: LedgerFile,
    slot: usize,
    entry: Entry,
}

impl Held {
    pub(super) fn new(file: LedgerFile, slot: usize, entry: Entry) -> Self {
        Self { file, slot, entry }
    }

    /// The entry as it stands.
    #[must_use]
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Sets the task whose state shows whether the step is suspended.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn set_task(&mut self, pid: i32) -> Result<(), LedgerError> {
        self.entry.task = Some(Task::of(pid));
        self.write()
    }

    /// Says whether the job is suspended: then its CPUs do not count as taken.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn set_suspended(&mut self, suspended: bool) -> Result<(), LedgerError> {
        match &mut self.entry.task {
            Some(task) if task.suspended != suspended => task.suspended = suspended,
            _ => return Ok(()),
        }
        self.write()
    }

    /// Writes slurmstepd's part. Nobody gives away the slot of a slurmstepd that lives, so this takes no lock, because tasks
    /// wait for it; a ledger that was begun anew has another entry there.
    fn write(&self) -> Result<(), LedgerError> {
        match read(&self.file, self.slot)?.is_some_and(|now| self.is_own(&now)) {
            true => write_confirmed(&self.file, self.slot, &self.entry),
            false => Err(LedgerError::Lost(self.file.path().into())),
        }
    }

    /// Whether this is the entry that it has written. Its CPUs may have changed.
    fn is_own(&self, now: &Entry) -> bool {
        let its = |entry: &Entry| (entry.step, entry.stepd, entry.cpuset, entry.pool);
        its(now) == its(&self.entry)
    }

    /// The cpuset has other CPUs from now on, and its job runs. The session is of the same ledger, and
    /// locked.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn set_cpus(
        &mut self,
        session: &Session<'_>,
        cpus: CpuSet,
        generation: u32,
    ) -> Result<(), LedgerError> {
        if !session.is_locked() || !self.file.is_current() {
            return Err(LedgerError::Busy(self.file.path().into()));
        }
        let now = read(&self.file, self.slot)?;
        if now.as_ref().is_some_and(|now| !self.is_own(now)) {
            return Err(LedgerError::Lost(self.file.path().into()));
        }
        let mut entry = Entry {
            cpus,
            generation,
            // What was added when it was written.
            ..now.unwrap_or_else(|| self.entry.clone())
        };
        if let Some(task) = &mut entry.task {
            task.suspended = false;
        }
        let Some(record) = record::write(&entry, self.file.words) else {
            return Err(LedgerError::TooManyCpus(self.file.path().into()));
        };
        let offset = self.file.offset(self.slot);
        self.file.write_words(offset, &record)?;
        self.entry = entry;
        Ok(())
    }

    /// The step has ended: its cores are free before anybody learns of it.
    ///
    /// # Errors
    /// [`LedgerError`]; the cores are then free when this process ends.
    pub fn release(self) -> Result<(), LedgerError> {
        free_if(&self.file, self.slot, |now| self.is_own(now))
    }
}

fn read(file: &LedgerFile, slot: usize) -> Result<Option<Entry>, LedgerError> {
    let words = file.read_words(file.offset(slot), file.words)?;
    Ok(record::read(&words))
}

/// The lock of a slot, if its entry is the expected one. While somebody has it nobody else gives the slot away.
fn lock_if(
    file: &LedgerFile,
    slot: usize,
    is_it: impl FnOnce(&Entry) -> bool,
) -> Result<Option<Locked<'_>>, LedgerError> {
    let Some(lock) = file.lock_byte(file.offset(slot), PATIENCE)? else {
        return Ok(None);
    };
    let now = read(file, slot)?;
    Ok(now.is_some_and(|now| is_it(&now)).then_some(lock))
}

/// Frees a slot, unless it has another entry by now.
fn free_if(
    file: &LedgerFile,
    slot: usize,
    is_it: impl FnOnce(&Entry) -> bool,
) -> Result<(), LedgerError> {
    match lock_if(file, slot, is_it)? {
        Some(_lock) => file.write_words(file.offset(slot), &[0]),
        None => Ok(()),
    }
}

fn write_confirmed(file: &LedgerFile, slot: usize, entry: &Entry) -> Result<(), LedgerError> {
    let offset = file.offset(slot) + (record::CONFIRMED * record::WORD) as u64;
    file.write_words(offset, &record::confirmed(entry))
}
