//! Whether a job still fits into its pool, beside the entries that the ledger has. In: the entries, the job. Out:
//! yes, or why it runs as a normal job. Pure.

use berth_host::ledger::{self, Entry};
use berth_placement::CpuSet;
use berth_placement::pools::{Full, Room};

use crate::step::handover::Member;

/// Whether there is room. A job that is in already stays in. Slurm gives a suspended job's CPUs to other jobs, so it leaves
/// room in its pool; its cores stay those of pools, for it may be resumed beside whoever comes now.
///
/// # Errors
/// [`Full`]
pub(crate) fn fits(all: &[Entry], job: u32, member: &Member) -> Result<(), Full> {
    if all.iter().any(|entry| entry.step.job == job) {
        return Ok(());
    }
    let mut jobs: Vec<&Entry> = all.iter().collect();
    jobs.sort_by_key(|entry| entry.step.job);
    jobs.dedup_by_key(|entry| entry.step.job);
    let mut in_all = CpuSet::new();
    jobs.iter().for_each(|entry| in_all.insert_all(&entry.cpus));
    let check = |counts: &dyn Fn(u32) -> bool| {
        let of_pool = jobs.iter().filter(|entry| entry.request == member.name);
        let of_pool = of_pool.filter(|entry| counts(entry.step.job));
        let in_pool: usize = of_pool.map(|entry| entry.cpus.count()).sum();
        let room = Room {
            own: &member.cpus,
            in_pool: u32::try_from(in_pool).unwrap_or(u32::MAX),
            in_all: &in_all,
            limit: member.limit,
            most: member.most,
        };
        room.check()
    };
    match check(&|_| true) {
        // Only then the kernel is asked.
        Err(Full::Pool(_)) => check(&|job| !ledger::is_suspended(all, job)),
        found => found,
    }
}

#[cfg(test)]
mod tests {
    use berth_host::ledger::{StepKey, Task};

    use super::*;

    fn cpus(list: &str) -> CpuSet {
        CpuSet::from_list(list).unwrap()
    }

    fn entry(job: u32, step: u32, pool: &str, list: &str) -> Entry {
        Entry {
            step: StepKey {
                job,
                step,
                component: u32::MAX,
            },
            pool: true,
            request: pool.into(),
            cpus: cpus(list),
            ..Entry::default()
        }
    }

    fn fits_in(pool: &str, all: &[Entry], job: u32, list: &str) -> Result<(), Full> {
        let member = Member {
            name: pool.into(),
            limit: 8,
            most: 12,
            cpus: cpus(list),
            ..Member::default()
        };
        fits(all, job, &member)
    }

    #[test]
    fn a_job_counts_once_and_one_that_is_in_stays_in() {
        let all = [
            entry(1, 0, "a", "0-3"),
            entry(1, 1, "a", "0-3"),
            entry(2, 0, "b", "4-5"),
        ];
        let fits = |job, pool, list| fits_in(pool, &all, job, list);
        assert_eq!(fits(3, "a", "6-9"), Ok(()));
        assert_eq!(fits(3, "a", "6-10"), Err(Full::Pool(9)));
        assert_eq!(fits(3, "b", "6-13"), Err(Full::Pool(10)));
        assert_eq!(fits(3, "c", "6-13"), Err(Full::Node(14)));
        assert_eq!(fits(1, "a", "0-15"), Ok(()));
    }

    #[test]
    fn a_suspended_job_leaves_room() {
        let entry = |step, suspended: Option<bool>| Entry {
            waits: suspended == Some(true),
            task: suspended.map(|_| Task::default()),
            ..entry(1, step, "a", "0-7")
        };
        let fits = |all: &[Entry], list| fits_in("a", all, 2, list);
        let stopped = || entry(0, Some(true));
        let full = Err(Full::Pool(16));
        assert_eq!(fits(&[entry(0, Some(false))], "0-7"), full);
        assert_eq!(fits(&[stopped()], "0-7"), Ok(()));
        // A step that begins has no task yet.
        assert_eq!(fits(&[stopped(), entry(1, None)], "0-7"), Ok(()));
        let other = entry(1, Some(false));
        assert_eq!(fits(&[stopped(), other], "0-7"), full, "one runs");
        assert_eq!(fits(&[entry(0, None)], "0-7"), full, "unknown");
        // It may be resumed: the node's reserve is kept whatever happens.
        assert_eq!(fits(&[stopped()], "8-15"), Err(Full::Node(16)));
    }
}
