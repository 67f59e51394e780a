//! What the steps of a pool job have used, between one that ends and the next, for the line at the job's end.
//! In: the text that an ended step has left. Out: sums, and the CPUs that were kept busy on average.

use berth_host::run_delay::Times;

/// What the ended steps of a job have used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Used {
    /// When its first step began, in nanoseconds since the boot.
    pub since: u64,
    /// Microseconds of CPU time.
    pub cpu: u64,
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
        Some(Self {
            since,
            cpu,
            times: Times { ran, waited },
        })
    }

    pub(super) fn text(self) -> String {
        let Times { ran, waited } = self.times;
        format!("1 {} {} {ran} {waited}\n", self.since, self.cpu)
    }

    /// CPUs that were kept busy on average until now.
    pub(super) fn delivered(self, now: u64) -> f64 {
        let wall = now.saturating_sub(self.since).max(1) as f64 / 1000.0;
        self.cpu as f64 / wall
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

    #[test]
    fn parts_of_steps_are_read_as_they_are_written() {
        let used = Used {
            since: 5_000_000_000,
            cpu: 7_800_000,
            times: Times { ran: 3, waited: 1 },
        };
        assert_eq!(run_share(used.times), Some(0.75));
        assert_eq!(run_share(Times::default()), None);
        let old = Used::read(b"1 5000000000 7800000\n").unwrap();
        assert_eq!((old.cpu, old.times), (used.cpu, Times::default()));
        assert_eq!(Used::read(used.text().as_bytes()), Some(used));
        assert!((used.delivered(6_000_000_000) - 7.8).abs() < 1e-9);
        for text in ["", "1", "2 1 1", "1 x 1", "1 1", "\u{0}"] {
            assert_eq!(Used::read(text.as_bytes()), None, "{text}");
        }
    }
}
