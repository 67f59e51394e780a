//! An entry of this process, until its step ends. The entry ends with the process and its tasks, however they end.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use berth_placement::CpuSet;

use super::entry::Entry;
use super::process::Task;
use super::{LedgerError, Session, step_cgroup, steps};

/// An entry that was written, until its step ends.
#[derive(Debug)]
pub struct Held {
    file: File,
    path: PathBuf,
    entry: Entry,
}

impl Held {
    pub(super) fn new(file: File, path: PathBuf, entry: Entry) -> Self {
        Self { file, path, entry }
    }

    /// The entry as it stands.
    #[must_use]
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Sets the task whose state shows whether the step is suspended, and whose cgroup shows whether it lives on.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn set_task(&mut self, pid: i32) -> Result<(), LedgerError> {
        let task = Some(Task::of(pid));
        let cgroup = self.entry.cgroup.clone();
        self.write(Entry {
            task,
            cgroup: cgroup.or_else(|| step_cgroup::of(pid)),
            ..self.entry.clone()
        })
    }

    /// Says whether the job is suspended: then its CPUs do not count as taken.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn set_suspended(&mut self, suspended: bool) -> Result<(), LedgerError> {
        match self.entry.task {
            Some(task) if task.suspended != suspended => {
                let task = Some(Task { suspended, ..task });
                self.write(Entry {
                    task,
                    ..self.entry.clone()
                })
            }
            _ => Ok(()),
        }
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
        if !session.is_locked() {
            return Err(LedgerError::Busy(self.path.clone()));
        }
        let runs = |task: Task| Task {
            suspended: false,
            ..task
        };
        self.write(Entry {
            cpus,
            generation,
            task: self.entry.task.map(runs),
            ..self.entry.clone()
        })
    }

    /// Tasks wait for this, so it takes no lock. Nobody else writes into the file.
    fn write(&mut self, entry: Entry) -> Result<(), LedgerError> {
        if !self.is_in_place() {
            return Err(LedgerError::Lost(self.path.clone()));
        }
        steps::append(&mut self.file, &entry).map_err(|why| self.failed("writing", why))?;
        self.entry = entry;
        Ok(())
    }

    /// Whether its name still leads to it: an administrator may have removed it.
    fn is_in_place(&self) -> bool {
        let place = |found: fs::Metadata| (found.dev(), found.ino());
        let named = fs::symlink_metadata(&self.path).map(place);
        named.is_ok_and(|named| {
            self.file
                .metadata()
                .map(place)
                .is_ok_and(|own| own == named)
        })
    }

    /// The step has ended: its cores are free before anybody learns of it.
    ///
    /// # Errors
    /// [`LedgerError`]; the cores are then free when this process ends.
    pub fn release(self) -> Result<(), LedgerError> {
        match self.is_in_place() {
            true => fs::remove_file(&self.path).map_err(|why| self.failed("removing it", why)),
            false => Ok(()),
        }
    }

    fn failed(&self, action: &'static str, why: io::Error) -> LedgerError {
        LedgerError::System {
            path: self.path.clone(),
            action,
            why,
        }
    }
}
