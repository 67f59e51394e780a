//! Which jobs have a step that lives on this node: each slurmstepd holds a shared lock on its job's byte of one
//! file, and the kernel gives it back when the process ends, however it ends. Only root can open the file.
//! In: the node's state directory and a job. Out: a lock, or whether anybody holds one.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use super::folder::{self, JobFilesError};
use crate::lock;
use crate::state::StateDir;
use crate::trust;

/// The lock file has this name. A job's file begins with the job's number, so no job has a file of this name.
const NAME: &str = "living";
const MODE: u32 = 0o600;

/// The lock of a step: it lives for as long as this value, and no longer than the process.
#[derive(Debug)]
pub struct StepLock {
    _file: File,
}

/// For slurmstepd: its step of the job lives from now on. This makes the folder of jobs if it is missing.
///
/// # Errors
/// [`JobFilesError`]: the folder or the file cannot be made, trusted or locked.
pub fn begin_step(dir: &StateDir, job: u32) -> Result<StepLock, JobFilesError> {
    folder::prepare(dir)?;
    let file = open(dir)?;
    lock::share(&file, u64::from(job)).map_err(|why| JobFilesError::Make {
        path: path(dir),
        why,
    })?;
    Ok(StepLock { _file: file })
}

/// Asks for jobs one after another.
pub(super) struct JobLocks(Option<File>);

impl JobLocks {
    pub(super) fn of(dir: &StateDir) -> Self {
        Self(open(dir).ok())
    }

    /// Whether a step of the job lives. If the kernel does not answer, one does.
    pub(super) fn lives(&self, job: u32) -> bool {
        let file = self.0.as_ref();
        file.is_none_or(|file| lock::is_held(file, u64::from(job)).unwrap_or(true))
    }
}

fn path(dir: &StateDir) -> PathBuf {
    folder::path(dir).join(NAME)
}

fn open(dir: &StateDir) -> Result<File, JobFilesError> {
    let path = path(dir);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).mode(MODE);
    let make = |why| JobFilesError::Make {
        path: path.clone(),
        why,
    };
    let file = trust::open(&path, &mut options).map_err(make)?;
    trust::check_private_file(&path, &file.metadata().map_err(make)?)?;
    Ok(file)
}
