//! slurmstepd's side of the ledger: it finds the entry that slurmd wrote for its step, and makes it
//! end with this process. One that comes so late that its entry has expired looks whether other
//! steps were given its cores meanwhile.

use std::time::Duration;

use berth_placement::CpuSet;

use super::file::LedgerFile;
use super::process::Task;
use super::record::{self, Entry, Step};
use super::{Ledger, LedgerError, PENDING, age};

/// slurmstepd may wait for others, who keep a lock for one write.
const PATIENCE: Duration = Duration::from_secs(1);

/// An entry that was written, until its step ends.
#[derive(Debug)]
pub struct Held {
    file: LedgerFile,
    slot: usize,
    entry: Entry,
}

/// What slurmstepd found for its step.
#[derive(Debug)]
pub enum Confirmed {
    /// The entry, which from now on ends with this process.
    Held(Box<Held>),
    /// slurmd wrote no entry.
    Nothing,
    /// The entry had expired, and other steps are bound to these of its CPUs by now. The step is
    /// not in the ledger.
    Late(CpuSet),
}

impl Ledger {
    /// Finds the entry of a step and makes it end with this process. `cpus` are those that the step
    /// is about to be bound to, for the case that its entry is not there any more.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn confirm(
        mut self,
        step: Step,
        uid: u32,
        cpus: &CpuSet,
    ) -> Result<Confirmed, LedgerError> {
        let words = self.file.words;
        let slots = self.file.read_all()?;
        let waiting = slots
            .chunks_exact(words)
            .enumerate()
            .filter_map(|(slot, words)| Some((slot, record::read(words)?)))
            .filter(|(_, entry)| entry.step == step && entry.stepd.is_none())
            .max_by_key(|(_, entry)| entry.made);
        let Some((slot, mut entry)) = waiting else {
            return self.without_entry(step, cpus);
        };
        if age(entry.made) >= PENDING {
            let taken = self.taken(step, &entry.cpus)?;
            if !taken.is_empty() {
                return Ok(Confirmed::Late(taken));
            }
        }
        let lock = self.file.lock_byte(self.file.offset(slot), PATIENCE)?;
        let now = record::read(&self.file.read_words(self.file.offset(slot), words)?);
        // Where it waited for too long, its slot may just be given to another step.
        if lock.is_none() || now.as_ref() != Some(&entry) {
            drop(lock);
            return self.without_entry(step, &entry.cpus);
        }
        (entry.stepd, entry.uid) = (Some(self.own), uid);
        write_confirmed(&self.file, slot, &entry)?;
        drop(lock);
        self.unless_taken(slot, entry)
    }

    /// A slurmd that planned another step while this one confirmed a late entry may have counted it
    /// as expired: whoever has written looks once more.
    fn unless_taken(mut self, slot: usize, entry: Entry) -> Result<Confirmed, LedgerError> {
        if age(entry.made) >= PENDING {
            // Whoever planned with the table of before has written by the time the lock is free.
            drop(self.file.lock(PATIENCE)?);
            let taken = self.taken(entry.step, &entry.cpus)?;
            if !taken.is_empty() {
                self.file.write_words(self.file.offset(slot), &[0])?;
                return Ok(Confirmed::Late(taken));
            }
        }
        let file = self.file;
        Ok(Confirmed::Held(Box::new(Held { file, slot, entry })))
    }

    fn without_entry(mut self, step: Step, cpus: &CpuSet) -> Result<Confirmed, LedgerError> {
        let taken = self.taken(step, cpus)?;
        Ok(match taken.is_empty() {
            true => Confirmed::Nothing,
            false => Confirmed::Late(taken),
        })
    }

    /// Those of a step's CPUs that others are bound to now. Without the lock: it looks into /proc.
    fn taken(&mut self, step: Step, cpus: &CpuSet) -> Result<CpuSet, LedgerError> {
        if cpus.is_empty() {
            return Ok(CpuSet::new());
        }
        let others = self.unlocked()?.others(step, cpus).now();
        Ok(others.taken.intersection(cpus))
    }

    /// slurmstepd's own where no slurmd plans: an entry that ends with this process.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn hold(self, slot: usize, entry: Entry) -> Result<Held, LedgerError> {
        let stepd = Some(self.own);
        let entry = Entry { stepd, ..entry };
        write_confirmed(&self.file, slot, &entry)?;
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

    /// Tells whose state says whether the step is suspended.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn set_task(&mut self, pid: i32) -> Result<(), LedgerError> {
        self.entry.task = Some(Task::of(pid));
        write_confirmed(&self.file, self.slot, &self.entry)
    }

    /// The step has ended: its cores are free before anybody hears of it.
    ///
    /// # Errors
    /// [`LedgerError`]; the cores are then free when this process ends.
    pub fn release(self) -> Result<(), LedgerError> {
        self.file.write_words(self.file.offset(self.slot), &[0])
    }
}

fn write_confirmed(file: &LedgerFile, slot: usize, entry: &Entry) -> Result<(), LedgerError> {
    let offset = file.offset(slot) + (record::CONFIRMED * record::WORD) as u64;
    file.write_words(offset, &record::confirmed(entry))
}
