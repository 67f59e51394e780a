//! What slurmd knows of a slurmstepd beside pools: what the kernel said of it at the last look, and whether it is at work.
//! In: what the kernel sums up for its cgroup, look by look. Pure.

use std::time::{Duration, Instant};

/// A slurmstepd that waited for a CPU is at work for so long, and for so many looks at the least, which may be far apart.
const AT_WORK: Duration = Duration::from_secs(2);
const LOOKS: u32 = 1;
/// One that waited for less between two looks, in microseconds, needs no help.
const SHORT: u64 = 1000;

/// What its threads have waited for and used, in microseconds. What they used is read of one at work alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Load {
    pub waited: Option<u64>,
    pub used: Option<u64>,
}

/// What is known of a slurmstepd.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    pub load: Option<Load>,
    /// When one of its threads, or a dying task, was seen that waited for a CPU, and how many looks have passed since.
    pub at_work: Option<(Instant, u32)>,
}

impl Known {
    /// The CPU time that it has used since the last look; where the kernel does not say that, the time that passed. In
    /// microseconds.
    pub(super) fn used(&self, now: Option<u64>, passed: i64) -> i64 {
        let before = self.load.and_then(|load| load.used);
        let used = before.zip(now);
        used.map_or(passed, |(before, now)| {
            i64::try_from(now.saturating_sub(before)).unwrap_or(i64::MAX)
        })
    }

    /// Whether it has waited for a CPU since the last look; nothing where the kernel does not say it.
    pub(super) fn has_waited(&self, now: Option<u64>) -> Option<bool> {
        let before = self.load.map(|load| load.waited);
        let now = now?;
        // Of one that is new nobody knows since when.
        let before = before.map_or(now, |before| before.unwrap_or(0));
        Some(now.saturating_sub(before) >= SHORT)
    }

    /// One that has not waited for a while is not at work any more.
    pub(super) fn rests(&mut self, now: Instant) {
        self.at_work = self.at_work.and_then(|(seen, looks)| {
            let is = now.duration_since(seen) < AT_WORK || looks < LOOKS;
            is.then_some((seen, looks + 1))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_used_is_the_kernels_sum_or_the_time_that_passed() {
        let mut one = Known::default();
        assert_eq!(one.used(Some(9), 50), 50);
        one.load = Some(Load {
            waited: None,
            used: Some(7),
        });
        assert_eq!(one.used(Some(9), 50), 2);
        assert_eq!(one.used(None, 50), 50);
    }

    #[test]
    fn one_that_has_waited_is_looked_at() {
        let waited = |waited| Load { waited, used: None };
        let mut one = Known::default();
        assert_eq!(one.has_waited(Some(5)), Some(false), "since when?");
        assert_eq!(one.has_waited(None), None, "psi=0");
        one.load = Some(waited(Some(5)));
        assert_eq!(one.has_waited(Some(5)), Some(false));
        assert_eq!(one.has_waited(Some(4 + SHORT)), Some(false));
        assert_eq!(one.has_waited(Some(5 + SHORT)), Some(true));
        assert_eq!(one.has_waited(None), None);
    }

    #[test]
    fn one_that_waits_no_more_rests_after_a_while() {
        let now = Instant::now();
        let mut one = Known {
            at_work: Some((now, 0)),
            ..Known::default()
        };
        for _ in 0..2 * LOOKS {
            one.rests(now + AT_WORK / 2);
        }
        assert!(one.at_work.is_some());
        one.rests(now + AT_WORK);
        assert!(one.at_work.is_none());
        // On a full node the next look may be late.
        one.at_work = Some((now, 0));
        for _ in 0..LOOKS {
            one.rests(now + 10 * AT_WORK);
            assert!(one.at_work.is_some());
        }
        one.rests(now + 10 * AT_WORK);
        assert!(one.at_work.is_none());
    }
}
