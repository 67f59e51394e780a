//! What slurmd knows of a slurmstepd beside pools: the CPU time that it may still use before others, and whether it is at
//! work.
//! In: what the kernel sums up for its cgroup, look by look. Pure.

use std::time::{Duration, Instant};

use super::stepds::Load;

/// A slurmstepd that has been quiet, or is new, may go first for so much CPU time, in microseconds.
const CREDIT: i64 = 5_000_000;
/// It earns a second in so many.
const EARNS: i64 = 10;
/// A slurmstepd that waited for a CPU is at work for so long, and for so many looks at the least, which may be far apart.
const AT_WORK: Duration = Duration::from_secs(2);
const LOOKS: u32 = 1;
/// One that waited for less between two looks, in microseconds, needs no help.
const SHORT: u64 = 1000;

/// What is known of a slurmstepd.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// Microseconds of CPU time; less than nothing for one that went first for longer than it might.
    pub credit: i64,
    pub load: Option<Load>,
    /// When one of its threads, or a dying task, was seen that waited for a CPU, and how many looks have passed since.
    pub at_work: Option<(Instant, u32)>,
}

impl Default for Known {
    fn default() -> Self {
        Self {
            credit: CREDIT,
            load: None,
            at_work: None,
        }
    }
}

impl Known {
    pub(super) fn earn(&mut self, passed: i64) {
        self.credit = CREDIT.min(self.credit.saturating_add(passed / EARNS));
    }

    /// One of which threads went first pays for what it has used meanwhile; where the kernel does not say that, for the
    /// time that passed.
    pub(super) fn pay(&mut self, now: Load, passed: i64) {
        let before = self.load.and_then(|load| load.used);
        let used = match (before, now.used) {
            (Some(before), Some(now)) => i64::try_from(now.saturating_sub(before)),
            _ => Ok(passed),
        };
        self.credit = self.credit.saturating_sub(used.unwrap_or(i64::MAX));
    }

    /// Whether it has waited for a CPU since the last look; nothing where the kernel does not say it.
    pub(super) fn has_waited(&self, now: Load) -> Option<bool> {
        let before = self.load.map(|load| load.waited);
        let now = now.waited?;
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
    fn credit_is_spent_and_earned_slowly() {
        const SECOND: i64 = 1_000_000;
        let used = |used| Load {
            waited: Some(1),
            used,
        };
        let mut one = Known::default();
        one.earn(SECOND);
        assert_eq!(one.credit, CREDIT);
        one.load = Some(used(Some(7_000_000)));
        one.pay(used(Some(9_000_000)), SECOND);
        assert_eq!(one.credit, 3 * SECOND);
        // Where the kernel does not say what it has used, it pays for the time; too long is a debt.
        one.pay(used(None), 9 * SECOND);
        assert_eq!(one.credit, -6 * SECOND);
        one.earn(10 * SECOND);
        assert_eq!(one.credit, -5 * SECOND);
        one.earn(1000 * SECOND);
        assert_eq!(one.credit, CREDIT);
    }

    #[test]
    fn one_that_has_waited_is_looked_at() {
        let waited = |waited| Load { waited, used: None };
        let mut one = Known::default();
        assert_eq!(one.has_waited(waited(Some(5))), Some(false), "since when?");
        assert_eq!(one.has_waited(waited(None)), None, "psi=0");
        one.load = Some(waited(Some(5)));
        assert_eq!(one.has_waited(waited(Some(5))), Some(false));
        assert_eq!(one.has_waited(waited(Some(4 + SHORT))), Some(false));
        assert_eq!(one.has_waited(waited(Some(5 + SHORT))), Some(true));
        assert_eq!(one.has_waited(waited(None)), None);
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
