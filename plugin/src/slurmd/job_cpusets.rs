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

/// The last cpusets, oldest first.
struct Cpusets(VecDeque<JobCpuset>);

static CPUSETS: Mutex<Cpusets> = Mutex::new(Cpusets(VecDeque::new()));

impl Cpusets {
    fn of(&self, job: u32) -> Option<JobCpuset> {
        self.0.iter().rev().find(|one| one.job == job).cloned()
    }

    fn keep(&mut self, cpuset: JobCpuset) {
        self.0.retain(|one| one.job != cpuset.job);
        if self.0.len() >= MOST {
            self.0.pop_front();
        }
        self.0.push_back(cpuset);
    }
}

/// The cpuset that a job had last.
pub(crate) fn of(job: u32) -> Option<JobCpuset> {
    let all = CPUSETS.lock().unwrap_or_else(PoisonError::into_inner);
    all.of(job)
}

/// Remembers a job's cpuset; the oldest is forgotten for it.
pub(crate) fn keep(cpuset: JobCpuset) {
    let mut all = CPUSETS.lock().unwrap_or_else(PoisonError::into_inner);
    all.keep(cpuset);
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
        let mut all = Cpusets(VecDeque::new());
        for job in 0..MOST as u32 {
            all.keep(set(job, "0-3"));
        }
        all.keep(set(0, "4"));
        assert_eq!(all.of(0), Some(set(0, "4")));
        assert_eq!(all.of(1), Some(set(1, "0-3")));
        all.keep(set(u32::MAX, "1"));
        assert_eq!((all.of(1), all.of(0)), (None, Some(set(0, "4"))));
    }
}
