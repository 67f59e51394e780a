//! slurmstepd's side of the ledger: it finds the entry that slurmd wrote for its step, and makes it
//! end with this process. If it starts so late that its entry has expired, it checks whether other
//! steps have got its cores meanwhile.

use std::time::Duration;

use berth_placement::CpuSet;

use super::claim;
use super::file::LedgerFile;
use super::process::Task;
use super::record::{self, Entry, StepKey};
use super::{LET_GO, Ledger, LedgerError, Session, age};

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
        let lock = self.file.lock_byte(self.file.offset(slot), PATIENCE)?;
        let now = record::read(&self.file.read_words(self.file.offset(slot), words)?);
        // If it has waited for too long, its slot may just go to another step.
        if lock.is_none() || now.as_ref() != Some(&entry) {
            drop(lock);
            return self.without_entry(step, cpus.and(Some(&entry.cpus)));
        }
        (entry.stepd, entry.uid) = (Some(self.own), uid);
        write_confirmed(&self.file, slot, &entry)?;
        drop(lock);
        self.unless_taken(slot, entry)
    }

    /// If slurmd planned another step while this one confirmed a late entry, it may have counted
    /// the entry as expired. Therefore the process that has written looks once more.
    fn unless_taken(mut self, slot: usize, entry: Entry) -> Result<Confirmed, LedgerError> {
        if may_have_expired(&entry) {
            // A process that planned with the old table has written by the time the lock is free.
            drop(self.file.lock(PATIENCE)?);
            let taken = self.taken(&entry)?;
            if !taken.is_empty() {
                self.file.write_words(self.file.offset(slot), &[0])?;
                return Ok(Confirmed::Late(taken));
            }
        }
        let file = self.file;
        Ok(Confirmed::Held(Box::new(Held { file, slot, entry })))
    }

    /// Removes the entry, unless its slot has another one by now.
    fn clear(&self, slot: usize, entry: &Entry) -> Result<(), LedgerError> {
        let offset = self.file.offset(slot);
        let lock = self.file.lock_byte(offset, PATIENCE)?;
        let now = record::read(&self.file.read_words(offset, self.file.words)?);
        match lock.is_some() && now.as_ref() == Some(entry) {
            true => self.file.write_words(offset, &[0]),
            false => Ok(()),
        }
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

    /// For slurmstepd if no slurmd plans: writes an entry that ends with this process.
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

    /// Sets the task whose state shows whether the step is suspended.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn set_task(&mut self, pid: i32) -> Result<(), LedgerError> {
        self.entry.task = Some(Task::of(pid));
        write_confirmed(&self.file, self.slot, &self.entry)
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
        write_confirmed(&self.file, self.slot, &self.entry)
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
        let offset = self.file.offset(self.slot);
        let now = record::read(&self.file.read_words(offset, self.file.words)?);
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
        self.file.write_words(offset, &record)?;
        self.entry = entry;
        Ok(())
    }

    /// The step has ended: its cores are free before anybody learns of it.
    ///
    /// # Errors
    /// [`LedgerError`]; the cores are then free when this process ends.
    pub fn release(self) -> Result<(), LedgerError> {
        self.file.write_words(self.file.offset(self.slot), &[0])
    }
}

/// Whether some process may have counted an entry without a slurmstepd as expired. slurmd alone knows when it has
/// finished the launch, and slurmstepd may need longer than [`LET_GO`] on a node that has little time for it.
fn may_have_expired(entry: &Entry) -> bool {
    age(entry.made) >= LET_GO
}

fn write_confirmed(file: &LedgerFile, slot: usize, entry: &Entry) -> Result<(), LedgerError> {
    let offset = file.offset(slot) + (record::CONFIRMED * record::WORD) as u64;
    file.write_words(offset, &record::confirmed(entry))
}

#[cfg(test)]
mod tests {
    use super::super::process::Process;
    use super::super::{Cpuset, Kind, PENDING, now};
    use super::*;
    use crate::state::StateDir;

    /// Writes the old plan of a slurmd that has ended.
    fn put(dir: &StateDir, slot: usize, (job, cpus): (u32, &str), ago: Duration) {
        let entry = Entry {
            step: step(job),
            kind: Kind::Regular,
            made: now() - ago.as_nanos() as u64,
            maker: Process { pid: 1, start: 7 },
            cpus: CpuSet::from_list(cpus).unwrap(),
            ..Entry::default()
        };
        put_entry(dir, slot, &entry);
    }

    fn put_entry(dir: &StateDir, slot: usize, entry: &Entry) {
        let ledger = Ledger::open(dir).unwrap();
        let record = record::write(entry, ledger.file.words).unwrap();
        let offset = ledger.file.offset(slot);
        ledger.file.write_words(offset, &record).unwrap();
    }

    fn step(job: u32) -> StepKey {
        StepKey {
            job,
            ..StepKey::default()
        }
    }

    /// An entry of a cpuset that slurmd planned long ago.
    fn put_cpuset(dir: &StateDir, slot: usize, step: StepKey, cpus: &str, exclusive: bool) {
        let entry = Entry {
            step,
            cpuset: Some(Cpuset {
                exclusive,
                of_job: true,
                memory: false,
            }),
            made: now() - (LET_GO * 2).as_nanos() as u64,
            maker: Process { pid: 1, start: 7 },
            cpus: CpuSet::from_list(cpus).unwrap(),
            ..Entry::default()
        };
        put_entry(dir, slot, &entry);
    }

    /// The job's own bindings are inside its cpuset, late or not; an exclusive one that comes late shares with nobody.
    #[test]
    fn a_late_cpuset() {
        let base = tempfile::tempdir().unwrap();
        let dir = StateDir::new(base.path(), "n1").unwrap();
        dir.prepare().unwrap();
        let confirm = |step| Ledger::open(&dir).unwrap().confirm_cpuset(step, 0).unwrap();
        let of_job = |job, step| StepKey {
            step,
            ..self::step(job)
        };
        put(&dir, 0, (1, "0-1"), Duration::ZERO);
        put_cpuset(&dir, 1, of_job(1, 5), "0-3", true);
        let own = confirm(of_job(1, 5));
        assert!(matches!(own, Confirmed::Held(_)), "{own:?}");
        let none = confirm(of_job(1, 6));
        assert!(matches!(none, Confirmed::Nothing), "{none:?}");
        // Another job's binding, and its cpuset that shares with others but not with an exclusive one.
        put_cpuset(&dir, 2, of_job(2, 0), "1-8", true);
        let late = confirm(of_job(2, 0));
        assert!(
            matches!(&late, Confirmed::Late(cpus) if cpus.to_string() == "1-3"),
            "{late:?}"
        );
        put_cpuset(&dir, 3, of_job(3, 0), "8-9", false);
        let shares = confirm(of_job(3, 0));
        assert!(matches!(shares, Confirmed::Held(_)), "{shares:?}");
        put_cpuset(&dir, 4, of_job(4, 0), "9-10", true);
        let late = confirm(of_job(4, 0));
        assert!(
            matches!(&late, Confirmed::Late(cpus) if cpus.to_string() == "9"),
            "{late:?}"
        );
        put_cpuset(&dir, 4, of_job(5, 0), "9-10", false);
        let shares = confirm(of_job(5, 0));
        assert!(matches!(shares, Confirmed::Held(_)), "{shares:?}");
    }

    #[test]
    fn a_slurmstepd_for_which_slurmd_waits_no_longer_looks_too() {
        let base = tempfile::tempdir().unwrap();
        let dir = StateDir::new(base.path(), "n1").unwrap();
        dir.prepare().unwrap();
        let second = Duration::from_secs(1);
        let confirm = |job| {
            let ledger = Ledger::open(&dir).unwrap();
            ledger.confirm(step(job), 0, &CpuSet::new()).unwrap()
        };
        put(&dir, 0, (1, "0-3"), LET_GO + second);
        put(&dir, 1, (2, "2-5"), second);
        put(&dir, 2, (3, "4"), LET_GO - second);
        let found = confirm(1);
        let is_late = matches!(&found, Confirmed::Late(cpus) if cpus.to_string() == "2-3");
        assert!(is_late, "{found:?}");
        assert!(matches!(confirm(3), Confirmed::Held(_)), "it is in time");
        // The late step excludes nobody any more.
        let all = super::super::look(&dir).unwrap();
        let jobs: Vec<_> = all.iter().map(|entry| entry.step.job).collect();
        assert_eq!(jobs, [2, 3]);
    }

    #[test]
    fn a_slurmstepd_that_comes_late_looks_who_has_its_cores() {
        let base = tempfile::tempdir().unwrap();
        let dir = StateDir::new(base.path(), "n1").unwrap();
        dir.prepare().unwrap();
        let late = PENDING + Duration::from_secs(9);
        let confirm = |job| {
            let ledger = Ledger::open(&dir).unwrap();
            ledger.confirm(step(job), 0, &CpuSet::new()).unwrap()
        };
        put(&dir, 0, (1, "0-3"), late);
        put(&dir, 1, (2, "2-5"), Duration::from_secs(1));
        put(&dir, 2, (3, "8"), late);
        let found = confirm(1);
        let is_late = matches!(&found, Confirmed::Late(cpus) if cpus.to_string() == "2-3");
        assert!(is_late, "{found:?}");
        assert!(matches!(confirm(3), Confirmed::Held(_)), "nobody took it");
        // An expired entry of another step takes nothing.
        put(&dir, 3, (4, "0-1"), late);
        assert!(matches!(confirm(4), Confirmed::Held(_)));
        // A pool job gets its CPUs whoever is bound there.
        put(&dir, 5, (6, "2"), late);
        let ledger = || Ledger::open(&dir).unwrap();
        let found = ledger().confirm(step(6), 0, &CpuSet::new()).unwrap();
        assert!(matches!(found, Confirmed::Late(_)), "{found:?}");
        put(&dir, 5, (6, "2"), late);
        let in_pool = ledger().for_pool(true);
        let found = in_pool.confirm(step(6), 0, &CpuSet::new()).unwrap();
        assert!(matches!(found, Confirmed::Held(_)), "{found:?}");
        // The late step excludes nobody: its entry is gone.
        put(&dir, 4, (5, "0"), Duration::ZERO);
        let mut all = super::super::look(&dir).unwrap();
        all.sort_by_key(|entry| entry.step.job);
        let jobs: Vec<_> = all.iter().map(|entry| entry.step.job).collect();
        assert_eq!(jobs, [2, 3, 4, 5, 6]);
    }
}
