//! A pool's job among Slurm's cgroups. In: the step's folders. Out: the weight of its job beside other jobs, which
//! slurmstepd writes while it holds the node's ledger; and at the step's end what it has used and waited for, as the
//! kernel has counted it for the cgroup of its tasks.

use std::fmt::Display;
use std::time::Duration;

use berth_host::Ledger;
use berth_host::cgroup::{FenceError, JobFolders};
use berth_host::ledger::Session;
use berth_host::metrics::PoolCounts;

use crate::site::node::state_dir;

/// The time to wait for others who write the ledger: a normal job gets its weight in any case.
const MOMENT: Duration = Duration::from_millis(200);

/// The step's folders, or why there are none.
pub(super) type Folders = Result<JobFolders, FenceError>;

/// Why the job's weight could not be written, if it could not.
pub(super) type WeightError = Option<String>;

/// Writes the job's weight while nobody else writes the ledger: of two steps of a job, of which one comes and the other
/// is the last to leave, the later one's weight stays.
pub(super) fn set_weight(
    job: &str,
    folders: &Folders,
    (weight, ledger): (u32, &Session<'_>),
) -> WeightError {
    if !ledger.is_locked() {
        log::debug!("{job}: its weight is written while others may write another one");
    }
    write_weight(job, folders, weight)
}

fn write_weight(job: &str, folders: &Folders, weight: u32) -> WeightError {
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
pub(super) fn set_missing_weight(job: &str, folders: &Folders, weight: u32) -> WeightError {
    match folders.as_ref().map(JobFolders::is_unweighed) {
        Ok(Ok(false)) => None,
        _ => write_weight(job, folders, weight),
    }
}

/// Gives a job that is in no pool its weight; nothing if another of its steps has put it into a pool.
pub(super) fn set_weight_outside_pools(
    job: &str,
    folders: &Folders,
    (node_name, number, others): (&str, u32, u32),
) -> Option<WeightError> {
    let weighed = || -> Result<Option<WeightError>, String> {
        let ledger = Ledger::open(&state_dir(node_name)?);
        let ledger = ledger.map_err(|why| why.to_string())?;
        let session = ledger.session(MOMENT).or_else(|_| ledger.read());
        let session = session.map_err(|why| why.to_string())?;
        let who = (number, others);
        Ok(set_weight_unless_in_pool(job, folders, who, &session))
    };
    // Another of its steps may have put it into a pool: then a weight that somebody has written stays.
    weighed().unwrap_or_else(|_| Some(set_missing_weight(job, folders, others)))
}

/// Nothing if another step of the job is in a pool.
pub(super) fn set_weight_unless_in_pool(
    job: &str,
    folders: &Folders,
    (number, others): (u32, u32),
    session: &Session<'_>,
) -> Option<WeightError> {
    let is_in_pool = session.pools().iter().any(|entry| entry.step.job == number);
    (!is_in_pool).then(|| set_weight(job, folders, (others, session)))
}

/// The word for a figure that the kernel does not count.
const UNKNOWN: &str = "unknown";

/// The CPU time of an ended step; times in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Used {
    /// Microseconds for which the step was there, at least 1.
    wall: u64,
    /// Its tasks' CPU time.
    cpu: Option<u64>,
    /// The time in which at least one of its tasks waited for a CPU.
    stalled: Option<u64>,
}

impl Used {
    /// The kernel's counts of a step that was there for so many nanoseconds.
    pub(super) fn of(step: &str, folders: Option<&JobFolders>, nanoseconds: u64) -> Self {
        let used = folders.map(JobFolders::used);
        if let Some(Err(why)) = &used {
            log::debug!("{step}: its CPU time is unknown: {why}");
        }
        Self {
            wall: (nanoseconds / 1000).max(1),
            cpu: used.and_then(Result::ok),
            stalled: folders.and_then(JobFolders::waited),
        }
    }

    /// The step's line, behind the pool's name. CPUs are what was kept busy on average, and a stall is a part of the time.
    pub(super) fn line(self, cpus: u32) -> String {
        let of_wall = |time: Option<u64>| time.map(|time| time as f64 / self.wall as f64);
        // The kernel may count a moment more than there was.
        let stalled = of_wall(self.stalled).map(|part| part.min(1.0));
        format!(
            "cpus-asked={cpus} cpus-delivered={} stalled={}",
            or_unknown(of_wall(self.cpu)),
            or_unknown(stalled)
        )
    }

    /// The step in its pool's counts. What it asked for is compared with what it got, so where that is unknown neither counts.
    pub(super) fn counts(self, cpus: u32) -> PoolCounts {
        let requested = self.cpu.map(|_| self.wall.saturating_mul(cpus.into()));
        PoolCounts {
            steps: 1,
            requested: requested.unwrap_or_default(),
            delivered: self.cpu.unwrap_or_default(),
            stalled: self.stalled.unwrap_or_default(),
        }
    }
}

fn or_unknown(number: Option<f64>) -> impl Display {
    number.map_or_else(|| UNKNOWN.into(), |number| format!("{number:.2}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_s_line_and_its_counts() {
        let used = |cpu, stalled| Used {
            wall: 2_000_000,
            cpu,
            stalled,
        };
        let counts = |used: Used| {
            let of = used.counts(4);
            [of.steps, of.requested, of.delivered, of.stalled]
        };
        let all = used(Some(7_200_000), Some(20_000));
        let line = "cpus-asked=4 cpus-delivered=3.60 stalled=0.01";
        assert_eq!(all.line(4), line);
        assert_eq!(counts(all), [1, 8_000_000, 7_200_000, 20_000]);
        // A kernel without pressure stall information.
        let line = "cpus-asked=4 cpus-delivered=0.50 stalled=unknown";
        assert_eq!(used(Some(1_000_000), None).line(4), line);
        assert_eq!(
            used(None, Some(2_000_001)).line(1),
            "cpus-asked=1 cpus-delivered=unknown stalled=1.00"
        );
        assert_eq!(counts(used(None, None)), [1, 0, 0, 0]);
        let line = Used::of("step=1.0", None, 0).line(1);
        assert_eq!(line, "cpus-asked=1 cpus-delivered=unknown stalled=unknown");
    }
}
