//! slurmstepd's side of the ledger: it finds the entry that slurmd wrote for its step, and makes it
//! end with this process. If it starts so late that its entry has expired, it checks whether other
//! steps have got its cores meanwhile.

use std::time::Duration;

use berth_placement::CpuSet;

use super::claim;
use super::file::LedgerFile;
use super::process::Task;
use super::record::{self, Entry, StepKey};
use super::{LET_GO, Ledger, LedgerError, Session, age, now};
use crate::lock::Locked;

/// The time that slurmstepd waits for others, who keep a lock for one write.
const PATIENCE: Duration = Duration::from_secs(1);

/// An entry that was written, until its step ends.
#[derive(Debug)]
pub struct Held {
    file: LedgerFile,
    slot: usize,
    entry: Entry,
}

/// slurmstepd's result for its step.
#[derive(Debug)]
pub enum Confirmed {
    /// The entry, which from now on ends with this process.
    Held(Box<Held>),
    /// slurmd wrote no entry.
    Nothing,
    /// The entry had expired, and other steps are now bound to these of its CPUs. The step is
    /// not in the ledger.
    Late(CpuSet),
}

impl Ledger {
    /// Finds the entry of a step's binding and makes it end with this process. `cpus` are those that the
    /// step is about to be bound to, for the case that its entry is not there any more.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn confirm(self, step: StepKey, uid: u32, cpus: &CpuSet) -> Result<Confirmed, LedgerError> {
        self.confirm_one(step, uid, Some(cpus), |entry| {
            entry.cpuset.is_none() && !entry.pool
        })
    }

    /// The same for its cpuset. Without an entry nothing is looked at: the step has a static cpuset, or
    /// [claims](super::claim) its own one, by the rules for that.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn confirm_cpuset(self, step: StepKey, uid: u32) -> Result<Confirmed, LedgerError> {
        self.confirm_one(step, uid, None, |entry| entry.cpuset.is_some())
    }

    fn confirm_one(
        mut self,
        step: StepKey,
        uid: u32,
        cpus: Option<&CpuSet>,
        is_it: impl Fn(&Entry) -> bool,
    ) -> Result<Confirmed, LedgerError> {
        let words = self.file.words;
        let slots = self.file.read_all()?;
        let waiting = slots
            .chunks_exact(words)
            .enumerate()
            .filter_map(|(slot, words)| Some((slot, record::read(words)?)))
            .filter(|(_, entry)| entry.step == step && entry.stepd.is_none() && is_it(entry))
            .max_by_key(|(_, entry)| entry.made);
        let Some((slot, mut entry)) = waiting else {
            return self.without_entry(step, cpus);
        };
        if may_have_expired(&entry) {
            let taken = self.taken(&entry)?;
            if !taken.is_empty() {
                self.clear(slot, &entry)?;
                return Ok(Confirmed::Late(taken));
            }
        }
        let lock = lock_if(&self.file, slot, |now| *now == entry)?;
        // If it has waited for too long, its slot may just go to another step.
        if lock.is_none() {
            drop(lock);
            return self.without_entry(step, cpus.and(Some(&entry.cpus)));
        }
        (entry.stepd, entry.uid) = (Some(self.own), uid);
        self.file.keep_alive(slot);
        write_confirmed(&self.file, slot, &entry)?;
        drop(lock);
        self.unless_taken(slot, entry)
    }

    /// If slurmd planned another step while this one confirmed a late entry, it may have counted
    /// the entry as expired. Therefore the process that has written looks once more. The other step's entry is in another
    /// slot, except by a slurmd of an older release.
    fn unless_taken(mut self, slot: usize, entry: Entry) -> Result<Confirmed, LedgerError> {
        if may_have_expired(&entry) {
            // A process that planned with the old table has written by the time the lock is free.
            drop(self.file.lock(PATIENCE)?);
            let taken = self.taken(&entry)?;
            if !taken.is_empty() {
                self.clear(slot, &entry)?;
                return Ok(Confirmed::Late(taken));
            }
            // A cpuset claims its CPUs anew.
            match lock_if(&self.file, slot, |now| *now == entry)? {
                Some(_) => {}
                None if entry.cpuset.is_some() => return Ok(Confirmed::Nothing),
                None => return Err(LedgerError::Lost(self.file.path().into())),
            }
        }
        let file = self.file;
        Ok(Confirmed::Held(Box::new(Held { file, slot, entry })))
    }

    /// Removes the entry, unless its slot has another one by now.
    fn clear(&self, slot: usize, entry: &Entry) -> Result<(), LedgerError> {
        free_if(&self.file, slot, |now| now == entry)
    }

    fn without_entry(
        mut self,
        step: StepKey,
        cpus: Option<&CpuSet>,
    ) -> Result<Confirmed, LedgerError> {
        let cpus = cpus.cloned().unwrap_or_default();
        let taken = self.taken(&Entry {
            step,
            cpus,
            ..Entry::default()
        })?;
        Ok(match taken.is_empty() {
            true => Confirmed::Nothing,
            false => Confirmed::Late(taken),
        })
    }

    /// Those of an entry's CPUs that others have now. This runs without the lock, because it
    /// reads /proc.
    fn taken(&mut self, entry: &Entry) -> Result<CpuSet, LedgerError> {
        if entry.cpus.is_empty() {
            return Ok(CpuSet::new());
        }
        let is_in_pool = self.is_in_pool;
        let mut session = self.unlocked()?;
        session.ask_for_pool(is_in_pool);
        Ok(claim::taken(&mut session, entry))
    }

    /// For slurmstepd if no slurmd plans: makes an entry that it has just added end with this process.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn hold(self, slot: usize, entry: Entry) -> Result<Held, LedgerError> {
        let is_its = |now: &Entry| now.step == entry.step && now.maker == self.own;
        let Some(lock) = lock_if(&self.file, slot, is_its)? else {
            return Err(LedgerError::Lost(self.file.path().into()));
        };
        let stepd = Some(self.own);
        let entry = Entry { stepd, ..entry };
        self.file.keep_alive(slot);
        write_confirmed(&self.file, slot, &entry)?;
        drop(lock);
        let file = self.file;
        Ok(Held { file, slot, entry })
    }
}

impl Held {
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

    /// Writes slurmstepd's part. Nobody gives away the slot of a slurmstepd that lives, except slurmds of older
    /// releases: so this looks first, and takes no lock, because tasks wait for it.
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

/// Whether some process may have counted an entry without a slurmstepd as expired. slurmd alone knows when it has
/// finished the launch, and slurmstepd may need longer than [`LET_GO`] on a node that has little time for it.
fn may_have_expired(entry: &Entry) -> bool {
    age(entry.made, now()) >= LET_GO
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

#[cfg(test)]
mod tests;
