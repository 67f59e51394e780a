//! What berth keeps of a job on its node while the job is there: the node's facts, which slurmstepd
//! leaves, and slurmctld's answer of the prolog. A root-owned file each, which the job's owner may read.
//! In: the node's state directory and a job. Out: `jobs/JOB.node`, `jobs/JOB.answer`, and locks on
//! `jobs/living` of the steps that live.

mod acl;
mod facts;
mod folder;
mod living;
mod tidy;

pub use facts::{Gres, NodeFacts};
pub use folder::{JobFilesError, Kind, forget, prepare, read, renew};
pub use living::{Living, begin_step};
pub use tidy::tidy;

use crate::atomic_file;
use crate::state::StateDir;

const FILE_MODE: u32 = 0o600;

/// For root: writes a file of a job, which its owner may then read. Where the file system has no access
/// control lists only root may.
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
    prepare(dir)?;
    let file = folder::path(dir).join(kind.name(job));
    if !file.exists() {
        tidy::make_room(dir)?;
    }
    atomic_file::replace(&file, bytes, FILE_MODE)?;
    if owner != 0 {
        // The owner's berth env then asks slurmctld alone.
        let _ = acl::let_read(&file, owner);
    }
    Ok(())
}
