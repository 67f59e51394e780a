//! An entry of this process, until its step ends. The entry ends with the process and its tasks, however they end.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

use super::entry::{Entry, TaskCgroup};
use super::process::Task;
use super::{LedgerError, step_cgroup, steps};
use crate::trust;

/// An entry that was written, until its step ends.
#[derive(Debug)]
pub struct OwnEntry {
    file: File,
    path: PathBuf,
    entry: Entry,
}

impl OwnEntry {
    pub(super) fn new(file: File, path: PathBuf, entry: Entry) -> Self {
        Self { file, path, entry }
    }

    /// The entry as it stands.
    #[must_use]
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// The last task has started: the first one shows whether the step is suspended, and its cgroup whether it lives on.
    /// From now on only a service writes into the file.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn started(&mut self, pid: i32, leaves: Vec<TaskCgroup>) -> Result<(), LedgerError> {
        let cgroup = self.entry.cgroup.clone();
        self.write(Entry {
            task: Some(Task::of(pid)),
            leaves,
            cgroup: cgroup.or_else(|| step_cgroup::of(pid)),
            ..self.entry.clone()
        })
    }

    /// Tasks wait for this, so it takes no lock. Nobody else writes into the file before they have started.
    fn write(&mut self, entry: Entry) -> Result<(), LedgerError> {
        if !trust::is_at(&self.path, &self.file) {
            return Err(LedgerError::Lost(self.path.clone()));
        }
        steps::append(&mut self.file, &entry).map_err(|why| self.failed("writing", why))?;
        self.entry = entry;
        Ok(())
    }

    /// The step has ended: its cores are free before anybody learns of it.
    ///
    /// # Errors
    /// [`LedgerError`]; the cores are then free when this process ends.
    pub fn release(self) -> Result<(), LedgerError> {
        match trust::is_at(&self.path, &self.file) {
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
