//! The weight of a step's job beside other jobs, as slurmstepd writes it while it holds the node's ledger.

use std::time::Duration;

use berth_host::Ledger;
use berth_host::cgroup::{FenceError, JobFolders};
use berth_host::ledger::Session;

use crate::site::node::state_dir;

/// The time to wait for others who write the ledger: a normal job gets its weight in any case.
const MOMENT: Duration = Duration::from_millis(200);

/// The step's folders, or why there are none.
pub(super) type Folders = Result<JobFolders, FenceError>;

/// Why the job's weight could not be written, if it could not.
pub(super) type Weighed = Option<String>;

/// Writes the job's weight while nobody else writes the ledger: of two steps of a job, of which one comes and the other
/// is the last to leave, the later one's weight stays.
pub(super) fn weigh(
    job: &str,
    folders: &Folders,
    (weight, ledger): (u32, &Session<'_>),
) -> Weighed {
    if !ledger.is_locked() {
        log::debug!("{job}: its weight is written while others may write another one");
    }
    weigh_alone(job, folders, weight)
}

fn weigh_alone(job: &str, folders: &Folders, weight: u32) -> Weighed {
    let written = match folders {
        Ok(folders) => folders.set_weight(weight).map_err(|why| why.to_string()),
        Err(why) => Err(why.to_string()),
    };
    match written {
        Ok(done) => {
            log::debug!("{job}: {done}");
            None
        }
        Err(why) => {
            log::debug!("{job}: no weight among the node's jobs: {why}");
            Some(why)
        }
    }
}

/// Writes the job's weight, unless the job already has a weight other than the kernel's usual one.
pub(super) fn weigh_if_unweighed(job: &str, folders: &Folders, weight: u32) -> Weighed {
    match folders.as_ref().map(JobFolders::is_unweighed) {
        Ok(Ok(false)) => None,
        _ => weigh_alone(job, folders, weight),
    }
}

/// Gives a job that is in no pool its weight; nothing if another of its steps has put it into a pool.
pub(super) fn weigh_normal(
    job: &str,
    folders: &Folders,
    (node_name, number, others): (&str, u32, u32),
) -> Option<Weighed> {
    let weighed = || -> Result<Option<Weighed>, String> {
        let ledger = Ledger::open(&state_dir(node_name)?);
        let ledger = ledger.map_err(|why| why.to_string())?;
        let session = ledger.session(MOMENT).or_else(|_| ledger.read());
        let session = session.map_err(|why| why.to_string())?;
        let who = (number, others);
        Ok(weigh_unless_in_pool(job, folders, who, &session))
    };
    // Another of its steps may have put it into a pool: then a weight that somebody has written stays.
    weighed().unwrap_or_else(|_| Some(weigh_if_unweighed(job, folders, others)))
}

/// Nothing if another step of the job is in a pool.
pub(super) fn weigh_unless_in_pool(
    job: &str,
    folders: &Folders,
    (number, others): (u32, u32),
    session: &Session<'_>,
) -> Option<Weighed> {
    let is_in_pool = session.pools().iter().any(|entry| entry.step.job == number);
    (!is_in_pool).then(|| weigh(job, folders, (others, session)))
}
