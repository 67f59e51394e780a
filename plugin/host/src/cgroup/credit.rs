//! The CPU time for which a job's slurmstepds, or its killed tasks, may still go before others. A job has one credit for
//! each, however many steps it has and had: a new step brings none. They are two, because the tasks of a wide job that
//! free their memory would otherwise leave nothing to the slurmstepd that has to end the job after them.
//! In: what was used, job by job. Out: whether a job may use more. Pure.

use std::collections::HashMap;

/// A job that has been quiet, or is new, may use so much, in microseconds.
const CREDIT: i64 = 5_000_000;
/// Its slurmstepds earn a second in so many, and its killed tasks in so many: these use little but at once. Beside a job
/// that uses all of both a pool has 94 % of the 97 % which its weight gives it: more than 90 % of its CPUs.
const STEPDS: i64 = 20;
const KILLED: i64 = 100;
/// The most jobs that are remembered.
const MOST: usize = 4096;

/// What is left of the credit of each job that has not all of it; less than nothing for one that used more than it might.
#[derive(Debug)]
pub(super) struct Credits {
    jobs: HashMap<String, i64>,
    earns: i64,
}

impl Credits {
    pub(super) fn of_stepds() -> Self {
        Self {
            jobs: HashMap::new(),
            earns: STEPDS,
        }
    }

    pub(super) fn of_killed() -> Self {
        Self {
            earns: KILLED,
            ..Self::of_stepds()
        }
    }

    /// Whether a job may use more. Where too many have used theirs, others wait until some are forgotten.
    pub(super) fn has(&self, job: &str) -> bool {
        let left = self.jobs.get(job);
        left.map_or(self.jobs.len() < MOST, |left| *left > 0)
    }

    /// A job has used so many microseconds.
    pub(super) fn pay(&mut self, job: &str, used: i64) {
        if let Some(left) = self.jobs.get_mut(job) {
            *left = left.saturating_sub(used);
        } else if used > 0 && self.jobs.len() < MOST {
            self.jobs.insert(job.into(), CREDIT.saturating_sub(used));
        }
    }

    /// Time has passed. A job that has earned all of its credit is forgotten, for it is like a new one; not before,
    /// because one that has no step now may have another later.
    pub(super) fn earn(&mut self, passed: i64) {
        let earned = passed / self.earns;
        self.jobs.retain(|_, left| {
            *left = left.saturating_add(earned);
            *left < CREDIT
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000;

    #[test]
    fn credit_is_spent_and_earned_slowly() {
        let mut credits = Credits::of_stepds();
        assert!(credits.has("job_1"), "a new one");
        credits.pay("job_1", 4 * SECOND);
        assert!(credits.has("job_1") && credits.jobs.len() == 1);
        // Too much is a debt, and it is the job's alone.
        credits.pay("job_1", 7 * SECOND);
        assert!(!credits.has("job_1") && credits.has("job_2"));
        credits.earn(119 * SECOND);
        assert!(!credits.has("job_1"));
        credits.earn(2 * SECOND);
        assert!(credits.has("job_1"));
        credits.earn(98 * SECOND);
        assert_eq!(credits.jobs.len(), 1);
        credits.earn(2 * SECOND);
        assert!(credits.jobs.is_empty(), "it is like a new one");
    }

    #[test]
    fn a_pool_keeps_nine_tenths_beside_a_job_that_uses_its_credit() {
        let mut both = [Credits::of_stepds(), Credits::of_killed()];
        let (look, mut used) = (SECOND / 20, 0);
        for _ in 0..20 * 3600 {
            for credits in &mut both {
                if credits.has("job_1") {
                    credits.pay("job_1", look);
                    used += look;
                }
                credits.earn(look);
            }
        }
        let left = 3600 * SECOND - (used - 2 * CREDIT);
        assert!(left * 97 / 100 > 3600 * SECOND * 9 / 10, "{used}");
    }

    #[test]
    fn the_number_of_jobs_has_a_bound() {
        let mut credits = Credits::of_stepds();
        for job in 0..=MOST {
            credits.pay(&format!("job_{job}"), 1);
        }
        assert_eq!(credits.jobs.len(), MOST);
        assert!(credits.has("job_0") && !credits.has("job_new"));
        credits.earn(STEPDS);
        assert!(credits.has("job_new"));
    }
}
