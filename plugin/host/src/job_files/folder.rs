//! The folder of a node's jobs: every user may pass through it to a file of a known name, and nobody
//! may list it. Only root writes there.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::PathBuf;

use nix::fcntl::AT_FDCWD;
use nix::sys::stat::{UtimensatFlags, utimensat};
use nix::sys::time::TimeSpec;
use thiserror::Error;

use crate::atomic_file::WriteError;
use crate::state::StateDir;
use crate::trust::{self, TrustError};
use crate::trusted_file::{self, ReadError};

/// Its name in the node's state directory.
const NAME: &str = "jobs";
const FOLDER_MODE: u32 = 0o711;
/// Bytes of a file: the answer for a job of ten thousand unlike nodes fits.
pub(super) const MOST: u64 = 1 << 20;

/// The files of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The node's facts, by slurmstepd.
    Node,
    /// slurmctld's answer, by the prolog.
    Answer,
    /// The job's cpuset, by slurmstepd for the job's next step.
    Cpuset,
}

/// A file that was not written.
#[derive(Debug, Error)]
pub enum JobFilesError {
    /// The folder cannot be made.
    #[error("{path} cannot be made: {why}")]
    Make {
        /// The folder.
        path: PathBuf,
        /// The system's error.
        why: io::Error,
    },
    /// A user could have prepared it.
    #[error(transparent)]
    Untrusted(#[from] TrustError),
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A job's facts are small.
    #[error("{bytes} bytes are more than the {MOST} that berth keeps of a job")]
    TooLarge {
        /// How many they are.
        bytes: usize,
    },
    /// So many jobs have files that no further one gets one.
    #[error("{most} jobs have files in {path} already")]
    Full {
        /// The folder.
        path: PathBuf,
        /// The bound.
        most: usize,
    },
}

impl Kind {
    pub(super) fn name(self, job: u32) -> String {
        match self {
            Self::Node => format!("{job}.node"),
            Self::Answer => format!("{job}.answer"),
            Self::Cpuset => format!("{job}.cpuset"),
        }
    }
}

pub(super) fn path(dir: &StateDir) -> PathBuf {
    dir.path().join(NAME)
}

/// Makes the folder if it is missing, and checks it.
///
/// # Errors
/// A folder that cannot be made, or that somebody else could have prepared.
pub fn prepare(dir: &StateDir) -> Result<(), JobFilesError> {
    let path = path(dir);
    match trust::check_directory(&path) {
        Err(TrustError::Look { why, .. }) if why.kind() == io::ErrorKind::NotFound => {}
        checked => return Ok(checked?),
    }
    match DirBuilder::new().mode(FOLDER_MODE).create(&path) {
        Ok(()) => fs::set_permissions(&path, Permissions::from_mode(FOLDER_MODE)),
        Err(why) if why.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(why) => Err(why),
    }
    .map_err(|why| JobFilesError::Make {
        path: path.clone(),
        why,
    })?;
    Ok(trust::check_directory(&path)?)
}

/// Reads a file of a job, as only root can have written it.
///
/// # Errors
/// No such file, or one that cannot be trusted or read.
pub fn read(dir: &StateDir, job: u32, kind: Kind) -> Result<Vec<u8>, ReadError> {
    trusted_file::read(&path(dir).join(kind.name(job)), MOST)
}

/// For root: removes a file of a job.
pub fn forget(dir: &StateDir, job: u32, kind: Kind) {
    // It may not exist.
    let _ = fs::remove_file(path(dir).join(kind.name(job)));
}

/// For root: the files of a job count as new, because a step of it has just ended and its epilog may
/// come.
pub fn renew(dir: &StateDir, job: u32) {
    let now = TimeSpec::UTIME_NOW;
    for kind in [Kind::Node, Kind::Answer, Kind::Cpuset] {
        let file = path(dir).join(kind.name(job));
        // It may not exist.
        let _ = utimensat(AT_FDCWD, &file, &now, &now, UtimensatFlags::NoFollowSymlink);
    }
}
