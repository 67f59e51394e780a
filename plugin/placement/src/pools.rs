//! The arithmetic of pools: which weight each job's cgroup gets, and whether a job still fits into its pool.
//! In: sizes. Out: `cpu.weight` of a pool job and of every other job. Pure.
//!
//! The kernel splits the weight of a cgroup over the CPUs on which the cgroup's threads are runnable, in
//! proportion to them (`calc_group_shares` of Linux's fair scheduler), and only siblings are compared. Let a
//! pool's jobs keep *T* CPUs busy with weight *W*: on each of them they count with *W/T*. A normal job of one CPU
//! has all of its weight *w* there, however many threads it has. So the pool gets of that CPU
//!
//! ```text
//! (W/T) / (W/T + w)  =  r / (r + 1)      with r = W / (T·w)
//! ```
//!
//! With *W* = 10000, *T* = 16 and the usual *w* = 100 that is 0.86 (measured: 0.86). A pool has 95 % where *r* ≥ 19,
//! and the normal job keeps 1 % where *r* ≤ 99. Therefore:
//!
//! - *T* is the widest pool of the node, and a pool job of *t* CPUs gets *W·t/T*: *r* is then the same for a narrow
//!   and a wide job that keep their CPUs busy, and no narrow job takes the last percent of a normal one.
//! - Every other job gets *w* = *W/T* / 33, rounded to the nearest whole number, with the least *W* of the node's pools,
//!   and at least ⌈*W/T* / 99⌉ with the highest, so that pools of unlike weights leave the last percent too; at least 1:
//!   *r* is then about 33 for small pools, and between 24.7 and 49.5 for all, that is 96.1 % to 98.1 %. The kernel splits a
//!   weight by averages of the past, so one CPU of a wide pool has twice the *r* of another for a while (measured); no
//!   normal job falls below 1 % then. A pool job that keeps *b* of its *t* CPUs busy has all of its weight on these, so *r* is
//!   *t/b* times as large there: with one of eight a serial normal job keeps about 0.4 %. No weights give 95 % to a job that is
//!   busy on all of its CPUs, and leave 1 % below one that is busy on a few.
//! - Weights are whole numbers from 1 to 10000. So *r* falls below 25 where *T* > *W*/25 (400 CPUs with the highest
//!   *W*), and below 19 where *T* > *W*/19 (526 CPUs): [`Weights::is_enough`] says whether the 95 % can be had.
//!
//! A normal job of *n* CPUs counts with *w/n* on each, so it takes less of a pool's CPUs, and has its other ones.

use crate::sets::cpuset::CpuSet;

/// The highest weight that Linux knows, and the usual one of a pool.
pub const HIGHEST: u32 = 10_000;
/// The weight of a pool's CPU as a multiple of that of a normal job on one CPU, as near as whole numbers come.
const RATIO: u32 = 33;
/// The least ratio with which a pool has 95 %.
const LEAST: u32 = 19;
/// The largest with which a normal job keeps 1 %.
const MOST: u32 = 99;

/// The weights of the jobs of a node with pools.
///
/// ```
/// use berth_placement::pools::Weights;
///
/// let weights = Weights::of([(16, 10_000), (4, 10_000)]).unwrap();
/// assert_eq!((weights.of_job(10_000, 16), weights.of_job(10_000, 4)), (10_000, 2_500));
/// assert_eq!(weights.others, 19);
/// assert!(weights.share(10_000, 16) > 0.97);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights {
    /// The CPUs of the widest pool.
    pub widest: u32,
    /// The weight of every job that is in no pool.
    pub others: u32,
    /// Whether every pool has 95 % of its CPUs against jobs of one CPU.
    pub is_enough: bool,
}

impl Weights {
    /// The weights of a node, from the CPUs and the weight of each of its pools; none without pools.
    pub fn of(pools: impl IntoIterator<Item = (u32, u32)> + Clone) -> Option<Self> {
        let all = || pools.clone().into_iter();
        let widest = all().map(|(cpus, _)| cpus).max()?.max(1);
        let weights = || all().map(|(_, weight)| weight);
        let (weight, most) = (weights().min()?, weights().max()?);
        // A pool of more weight must leave normal jobs their percent, also beside one of less.
        let least = most.div_ceil(widest.saturating_mul(MOST));
        let ahead = widest.saturating_mul(RATIO);
        let nearest = weight.saturating_add(ahead / 2) / ahead;
        let others = nearest.max(least).max(1);
        let is_enough = weight >= widest.saturating_mul(LEAST).saturating_mul(others);
        Some(Self {
            widest,
            others,
            is_enough,
        })
    }

    /// The weight of a job with so many CPUs, in a pool of this weight.
    #[must_use]
    pub fn of_job(&self, weight: u32, cpus: u32) -> u32 {
        let part = u64::from(weight) * u64::from(cpus) / u64::from(self.widest.max(1));
        u32::try_from(part).unwrap_or(HIGHEST).clamp(1, HIGHEST)
    }

    /// The part of each of its CPUs that such a job gets while a normal job of one CPU is busy on each.
    #[must_use]
    pub fn share(&self, weight: u32, cpus: u32) -> f64 {
        let own = f64::from(self.of_job(weight, cpus)) / f64::from(cpus.max(1));
        own / (own + f64::from(self.others))
    }
}

/// The state of a pool when a job comes to it.
#[derive(Clone, Debug)]
pub struct Room<'a> {
    /// The job's CPUs on this node.
    pub own: &'a CpuSet,
    /// The number of CPUs that the pool's other jobs own here.
    pub in_pool: u32,
    /// The CPUs of all other pool jobs here, whatever their pool.
    pub in_all: &'a CpuSet,
    /// `cpus=` of the pool.
    pub limit: u32,
    /// The CPUs that all pools together may own: those of the node without the reserve.
    pub most: u32,
}

/// Why a job runs as a normal one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// Its pool would own so many CPUs.
    Pool(u32),
    /// All pools together would.
    Node(u32),
}

impl Room<'_> {
    /// Whether the job fits in.
    ///
    /// # Errors
    /// [`Full`]
    pub fn check(&self) -> Result<(), Full> {
        let own = u32::try_from(self.own.count()).unwrap_or(u32::MAX);
        let pool = self.in_pool.saturating_add(own);
        let mut all = self.in_all.clone();
        all.insert_all(self.own);
        let all = u32::try_from(all.count()).unwrap_or(u32::MAX);
        match (pool > self.limit, all > self.most) {
            (true, _) => Err(Full::Pool(pool)),
            (_, true) => Err(Full::Node(all)),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The law of the module's text, for every width up to the largest node that Linux knows.
    #[test]
    fn each_pool_has_95_percent_and_leaves_one() {
        for widest in 1..=8192 {
            let weights = Weights::of([(widest, HIGHEST), (1, HIGHEST)]).unwrap();
            assert_eq!(weights.is_enough, widest <= 526, "{widest}");
            for job in [1, widest.div_ceil(2), widest] {
                let share = weights.share(HIGHEST, job);
                if weights.is_enough {
                    assert!(share >= 0.949, "{widest} {job}: {share}");
                }
                assert!(share <= 0.981, "{widest} {job}: {share}");
                if widest <= 32 {
                    // Both promises with a margin, on most nodes.
                    assert!((0.968..0.974).contains(&share), "{widest} {job}: {share}");
                }
            }
        }
        assert_eq!(Weights::of([]), None);
    }

    #[test]
    fn a_pool_with_less_weight_has_less_and_the_others_follow_the_least() {
        let weights = Weights::of([(8, 10_000), (8, 1_000)]).unwrap();
        // The stronger pool leaves a normal job its percent, and so the weaker one has less than 95 %.
        assert_eq!((weights.others, weights.is_enough), (13, false));
        assert!(weights.share(10_000, 8) <= 0.99);
        assert_eq!(
            (weights.of_job(10_000, 8), weights.of_job(1_000, 4)),
            (10_000, 500)
        );
        // More CPUs than the widest pool has: no job does that.
        assert_eq!(weights.of_job(10_000, u32::MAX), HIGHEST);
        let weak = Weights::of([(8, 100)]).unwrap();
        assert_eq!((weak.others, weak.is_enough), (1, false));
    }

    #[test]
    fn a_full_pool_and_a_full_node() {
        let cpus = |list: &str| CpuSet::from_list(list).unwrap();
        let (own, others) = (cpus("0-3"), cpus("2-5"));
        let room = Room {
            own: &own,
            in_pool: 4,
            in_all: &others,
            limit: 8,
            most: 6,
        };
        assert_eq!(room.check(), Ok(()));
        let small = Room {
            limit: 7,
            ..room.clone()
        };
        assert_eq!(small.check(), Err(Full::Pool(8)));
        let reserve = Room { most: 5, ..room };
        assert_eq!(reserve.check(), Err(Full::Node(6)));
    }
}
