//! What the steps of a pool job have used, between one that ends and the next, for the line at the job's end.
//! In: the text that an ended step has left. Out: sums, and the CPUs that were kept busy on average.

use berth_host::counters::PoolCounts;
use berth_host::run_delay::Times;

/// Of a job of which a step's CPU time is unknown, behind what earlier releases read.
const UNKNOWN: &str = "unknown";

/// What the ended steps of a job have used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Used {
    /// When its first step began, in nanoseconds since the boot.
    pub since: u64,
    /// Microseconds of CPU time; nothing if that of one of them is unknown.
    pub cpu: Option<u64>,
    /// What its threads ran and waited for a CPU, as far as somebody looked; zeros if nobody did.
    pub times: Times,
}

impl Used {
    pub(super) fn read(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let mut words = text.strip_prefix("1 ")?.split_whitespace();
        let mut next = || words.next()?.parse().ok();
        let (since, cpu) = (next()?, next()?);
        // Earlier releases wrote no times.
        let (ran, waited) = (next().unwrap_or_default(), next().unwrap_or_default());
        let is_unknown = words.next() == Some(UNKNOWN);
        Some(Self {
            since,
            cpu: (!is_unknown).then_some(cpu),
            times: Times { ran, waited },
        })
    }

    pub(super) fn text(self) -> String {
        let Times { ran, waited } = self.times;
        let (cpu, unknown) = match self.cpu {
            Some(cpu) => (cpu, String::new()),
            None => (0, format!(" {UNKNOWN}")),
        };
        format!("1 {} {cpu} {ran} {waited}{unknown}\n", self.since)
    }

    /// The sum of a step's part and of what ended before it. A step that began earlier may end later.
    pub(super) fn after(self, before: Option<Self>) -> Self {
        let Some(before) = before else {
            return self;
        };
        let cpu = before.cpu.zip(self.cpu);
        Self {
            since: before.since.min(self.since),
            cpu: cpu.map(|(before, own)| before.saturating_add(own)),
            times: Times {
                ran: before.times.ran.saturating_add(self.times.ran),
                waited: before.times.waited.saturating_add(self.times.waited),
            },
        }
    }

    /// CPUs that were kept busy on average until now, in nanoseconds since the boot; nothing if that is unknown.
    pub(super) fn delivered(self, now: u64) -> Option<f64> {
        let wall = now.saturating_sub(self.since).max(1) as f64 / 1000.0;
        Some(self.cpu? as f64 / wall)
    }

    /// The ended job in its pool's counts, in microseconds. It had so many CPUs until now, in nanoseconds since the boot. What
    /// it asked for is compared with what it got, so where one is unknown neither counts.
    pub(super) fn counts(self, cpus: u32, now: u64) -> PoolCounts {
        let wall = now.saturating_sub(self.since) / 1000;
        let asked = self.cpu.map(|_| wall.saturating_mul(cpus.into()));
        PoolCounts {
            jobs: 1,
            asked: asked.unwrap_or_default(),
            delivered: self.cpu.unwrap_or_default(),
            waited: self.times.waited / 1000,
        }
    }
}

/// `CPU time ÷ (CPU time + run delay)`, as far as somebody looked.
pub(super) fn run_share(times: Times) -> Option<f64> {
    let all = times.ran.saturating_add(times.waited);
    (times.ran > 0).then(|| times.ran as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn part(since: u64, cpu: Option<u64>) -> Used {
        Used {
            since: since * SECOND,
            cpu,
            times: Times { ran: 3, waited: 1 },
        }
    }

    #[test]
    fn parts_of_steps_are_read_as_they_are_written() {
        let used = part(5, Some(7_800_000));
        assert_eq!(run_share(used.times), Some(0.75));
        assert_eq!(run_share(Times::default()), None);
        let old = Used::read(b"1 5000000000 7800000\n").unwrap();
        assert_eq!((old.cpu, old.times), (used.cpu, Times::default()));
        assert_eq!(Used::read(used.text().as_bytes()), Some(used));
        assert_eq!(used.text(), "1 5000000000 7800000 3 1\n");
        assert!((used.delivered(6 * SECOND).unwrap() - 7.8).abs() < 1e-9);
        for text in ["", "1", "2 1 1", "1 x 1", "1 1", "\u{0}"] {
            assert_eq!(Used::read(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_job_of_which_a_part_is_unknown_has_asked_for_nothing_and_got_nothing() {
        let known = part(5, Some(3_000_000));
        let unknown = part(6, None);
        let asked = |used: &Used| {
            let counts = used.counts(2, 9 * SECOND);
            (counts.jobs, counts.asked, counts.delivered)
        };
        assert_eq!(asked(&known.after(None)), (1, 8_000_000, 3_000_000));
        let all = part(7, Some(1)).after(Some(known));
        assert_eq!(asked(&all), (1, 8_000_000, 3_000_001));
        for all in [known.after(Some(unknown)), unknown.after(Some(known))] {
            assert_eq!((all.since, all.cpu), (5 * SECOND, None));
            assert_eq!(all.delivered(9 * SECOND), None);
            assert_eq!(asked(&all), (1, 0, 0));
            assert_eq!(all.counts(2, 9 * SECOND).waited, 0, "nanoseconds");
            assert_eq!(all.times, Times { ran: 6, waited: 2 });
            // The other release takes it for no CPU time.
            assert_eq!(all.text(), "1 5000000000 0 6 2 unknown\n");
            assert_eq!(Used::read(all.text().as_bytes()), Some(all));
        }
    }
}
