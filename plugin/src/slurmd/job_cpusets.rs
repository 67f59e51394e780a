//! The cpusets of this node's jobs, as slurmd remembers them: no hook tells a node that a job has ended, and
//! between two steps of a job nothing of it lives. The next step takes the same CPUs if they are free.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use berth_placement::{CpuSet, CpusetRequest};

/// More jobs than a node runs between two steps of one of them.
const MOST: usize = 1024;

/// A job's cpuset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JobCpuset {
    pub job: u32,
    pub request: CpusetRequest,
    pub cpus: CpuSet,
}

static CPUSETS: Mutex<VecDeque<JobCpuset>> = Mutex::new(VecDeque::new());

/// The cpuset that a job had last.
pub(crate) fn of(job: u32) -> Option<JobCpuset> {
    let all = CPUSETS.lock().unwrap_or_else(PoisonError::into_inner);
    all.iter().rev().find(|one| one.job == job).cloned()
}

/// Remembers a job's cpuset; the oldest is forgotten for it.
pub(crate) fn keep(cpuset: JobCpuset) {
    let mut all = CPUSETS.lock().unwrap_or_else(PoisonError::into_inner);
    all.retain(|one| one.job != cpuset.job);
    if all.len() >= MOST {
        all.pop_front();
    }
    all.push_back(cpuset);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_cpuset_of_each_of_the_last_jobs() {
        let set = |job, cpus: &str| JobCpuset {
            job,
            request: CpusetRequest::None,
            cpus: CpuSet::from_list(cpus).unwrap_or_default(),
        };
        for job in 0..MOST as u32 {
            keep(set(job, "0-3"));
        }
        keep(set(0, "4"));
        assert_eq!(of(0), Some(set(0, "4")));
        assert_eq!(of(1), Some(set(1, "0-3")));
        keep(set(u32::MAX, "1"));
        assert_eq!((of(1), of(0)), (None, Some(set(0, "4"))));
    }
}
