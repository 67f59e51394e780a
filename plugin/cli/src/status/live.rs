//! How the jobs in and outside of a node's pools fare at this moment, as far as the kernel counts it. Only root can look.
//! In: the ledger's entries of pools, and the node's cgroups. Out: the CPUs that were delivered to each job of a pool so
//! far, and how much the other jobs wait.

use std::collections::{BTreeMap, BTreeSet};

use berth_host::cgroup::{Mounts, Place, StepNow, Waiting, scopes};
use berth_host::ledger::{self, Entry};

/// The CPU time of a step.
#[derive(Clone, Copy)]
struct StepUse {
    /// The CPU time of its tasks in microseconds, if it is known.
    used: Option<u64>,
    /// Its beginning in nanoseconds since the boot.
    began: u64,
}

/// A node at a moment.
#[derive(Debug, Default)]
pub(super) struct Live {
    /// The CPUs that each job of a pool has kept busy on average since the first of its steps that run now began.
    pub delivered: BTreeMap<u32, Option<f64>>,
    /// The jobs outside of pools; nothing where no cgroup has counts of them.
    pub others: Option<Waiting>,
}

impl Live {
    /// Looks at a node.
    pub(super) fn of(node: &str, entries: &[Entry]) -> Self {
        let Ok(mounts) = Mounts::read() else {
            return Self::default();
        };
        let mut scopes = scopes::usual_scopes(&mounts, node);
        let mut names = BTreeSet::new();
        let mut steps: BTreeMap<u32, Vec<StepUse>> = BTreeMap::new();
        for entry in entries.iter().filter(|entry| entry.pool) {
            let place = entry.stepd.map(|stepd| Place::of(stepd.pid, &mounts));
            let now = place.and_then(|place| StepNow::of(&place.ok()?).ok());
            let of_job = steps.entry(entry.step.job).or_default();
            of_job.push(StepUse {
                used: now.as_ref().map(|now| now.used),
                began: entry.made,
            });
            if let Some(now) = now {
                names.insert(now.job);
                if !scopes.contains(&now.scope) {
                    scopes.push(now.scope);
                }
            }
        }
        let now = ledger::now();
        let delivered = steps.into_iter();
        Self {
            delivered: delivered
                .map(|(job, steps)| (job, delivered_to(&steps, now)))
                .collect(),
            others: Waiting::of(&scopes, &names),
        }
    }

    /// The CPUs delivered to all of these jobs together; nothing if one of them is not known.
    pub(super) fn sum(&self, jobs: &[u32]) -> Option<f64> {
        let known = |job| self.delivered.get(job).copied().flatten();
        // The sum of no numbers is -0 in Rust.
        let mut all = jobs.iter().map(known);
        all.try_fold(0.0, |sum, cpus| Some(sum + cpus?))
    }
}

fn delivered_to(steps: &[StepUse], now: u64) -> Option<f64> {
    let began = steps.iter().map(|step| step.began).min()?;
    let used: u64 = steps.iter().map(|step| step.used).sum::<Option<u64>>()?;
    let wall = now.saturating_sub(began).max(1) as f64 / 1000.0;
    Some(used as f64 / wall)
}

/// Two places behind the point, as the line at a step's end has them.
pub(super) fn rounded(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_cpu_time_since_the_first_step_began() {
        let (begin, second) = (5_000_000_000, 1_000_000_000);
        let after = |seconds: u64| begin + seconds * second;
        let step = |used, began| StepUse { used, began };
        let one = [step(Some(78_100_000), begin)];
        assert_eq!(delivered_to(&one, after(10)).map(rounded), Some(7.81));
        let two = [
            step(Some(4_000_000), after(5)),
            step(Some(6_000_000), begin),
        ];
        assert_eq!(delivered_to(&two, after(10)), Some(1.0));
        // One unknown part makes the whole unknown.
        assert_eq!(
            delivered_to(&[one[0], step(None, after(1))], after(10)),
            None
        );
        assert_eq!(delivered_to(&[], after(10)), None);
        assert!(delivered_to(&one, begin).is_some_and(f64::is_finite));
    }

    #[test]
    fn a_pool_has_the_sum_of_its_jobs() {
        let mut live = Live::default();
        assert!(
            live.sum(&[])
                .is_some_and(|none| format!("{none:.2}") == "0.00")
        );
        live.delivered = BTreeMap::from([(1, Some(7.5)), (2, Some(0.25)), (3, None)]);
        assert_eq!(live.sum(&[1, 2]), Some(7.75));
        assert_eq!(live.sum(&[1, 3]), None);
        assert_eq!(live.sum(&[1, 4]), None, "it has ended meanwhile");
    }
}
