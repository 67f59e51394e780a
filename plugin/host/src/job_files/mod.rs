//! The files of a job on its node while the job is there: the node's facts, which slurmstepd
//! leaves, and slurmctld's answer of the prolog. A root-owned file each, in a folder that only the job's owner may pass.
//! In: the node's state directory, a job and its owner. Out: `jobs/UID/JOB.node`, `jobs/UID/JOB.answer`, and locks on
//! `jobs/living` of the steps that live.

mod cleanup;
mod facts;
mod folder;
mod step_lock;

pub use cleanup::tidy;
pub use facts::{Gres, NodeFacts};
pub use folder::{JobFilesError, Kind, forget, prepare, read, read_of, renew};
pub use step_lock::{StepLock, begin_step};

use crate::atomic_file;
use crate::state::StateDir;

const FILE_MODE: u32 = 0o644;

/// For root: writes a file of a job, which its owner may then read, and nobody else.
///
/// # Errors
/// [`JobFilesError`]; an older file then stays as it was.
pub fn put(
    dir: &StateDir,
    (job, kind): (u32, Kind),
    owner: u32,
    bytes: &[u8],
) -> Result<(), JobFilesError> {
    if bytes.len() as u64 > folder::MOST {
        let bytes = bytes.len();
        return Err(JobFilesError::TooLarge { bytes });
    }
    let folder = folder::prepare_for(dir, owner)?;
    let file = folder.join(kind.name(job));
    if !file.exists() {
        cleanup::make_room(dir, &folder)?;
    }
    Ok(atomic_file::replace(&file, bytes, FILE_MODE)?)
}
