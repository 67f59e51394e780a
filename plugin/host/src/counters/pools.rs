//! Counts of each pool, in a file of their own beside the other counts: what its ended steps asked for and got.
//! In: a step that has ended. Out: `berth-pools.prom`, in the format of Prometheus. The caller has the ledger's lock,
//! so nobody else writes.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;

use super::{escaped, microseconds, seconds};
use crate::atomic_file;
use crate::state::StateDir;
use crate::trusted_file::{self, ReadError};

/// The public file's name in the state directory.
pub const POOLS: &str = "berth-pools.prom";
/// Far more than the file can have.
const MOST: u64 = 1 << 20;
/// Pools that are counted; a site's file has no more.
const MOST_POOLS: usize = 1024;
const PUBLIC: u32 = 0o644;

/// The counts of a pool; times in microseconds of one CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolCounts {
    /// Steps and scripts of its jobs that have ended here.
    pub steps: u64,
    /// The CPUs of their jobs times the time that the steps ran.
    pub asked: u64,
    /// Their CPU time.
    pub delivered: u64,
    /// How long one of a step's tasks or more waited for a CPU.
    pub stalled: u64,
}

const NAMES: [(&str, &str); 4] = [
    (
        "berth_pool_ended_steps_total",
        "Steps and batch scripts of the pool's jobs that have ended on this node.",
    ),
    (
        "berth_pool_asked_cpu_seconds_total",
        "The CPUs of their jobs times the time that they ran.",
    ),
    ("berth_pool_delivered_cpu_seconds_total", "Their CPU time."),
    (
        "berth_pool_stalled_seconds_total",
        "The time in which one of a step's tasks or more waited for a CPU.",
    ),
];

impl PoolCounts {
    fn values(self) -> [u64; 4] {
        [self.steps, self.asked, self.delivered, self.stalled]
    }

    fn of([steps, asked, delivered, stalled]: [u64; 4]) -> Self {
        Self {
            steps,
            asked,
            delivered,
            stalled,
        }
    }
}

/// Adds a step to its pool's counts.
///
/// # Errors
/// A file that cannot be written.
pub fn add_to_pool(dir: &StateDir, node: &str, (pool, more): (&str, PoolCounts)) -> io::Result<()> {
    let path = dir.path().join(POOLS);
    let before = match trusted_file::read(&path, MOST) {
        Ok(bytes) => parse(&String::from_utf8_lossy(&bytes)),
        Err(ReadError::Absent(_)) => BTreeMap::new(),
        Err(why) => return Err(io::Error::other(why)),
    };
    let text = text(node, &plus(before, (pool, more)));
    atomic_file::replace(&path, text.as_bytes(), PUBLIC).map_err(|failed| failed.why)
}

type All = BTreeMap<String, PoolCounts>;

fn plus(mut all: All, (pool, more): (&str, PoolCounts)) -> All {
    if all.len() < MOST_POOLS || all.contains_key(pool) {
        let known = all.entry(pool.into()).or_default();
        let mut sum = known.values();
        for (value, more) in sum.iter_mut().zip(more.values()) {
            *value = value.saturating_add(more);
        }
        *known = PoolCounts::of(sum);
    }
    all
}

fn text(node: &str, all: &All) -> String {
    let (mut text, node) = (String::new(), escaped(node));
    for (at, (name, help)) in NAMES.iter().enumerate() {
        // A String takes everything.
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} counter");
        for (pool, counts) in all {
            let value = counts.values().get(at).copied().unwrap_or_default();
            let value = match at {
                0 => value.to_string(),
                _ => seconds(value),
            };
            let _ = writeln!(text, "{name}{{node=\"{node}\",pool=\"{pool}\"}} {value}");
        }
    }
    text
}

/// Reads the text again; a line that is none of these counts nothing. A pool's name has no quotes.
fn parse(text: &str) -> All {
    let mut all = All::new();
    for (at, (name, _)) in NAMES.iter().enumerate() {
        let lines = text
            .lines()
            .filter_map(|line| line.strip_prefix(name)?.split_once(",pool=\""));
        for (pool, value) in lines.filter_map(|(_, rest)| rest.split_once("\"} ")) {
            // The number of steps has no point.
            let Some(value) = microseconds(value) else {
                continue;
            };
            let mut values = [0; 4];
            if let Some(place) = values.get_mut(at) {
                *place = value;
            }
            all = plus(all, (pool, PoolCounts::of(values)));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_added_to_what_was_read() {
        let counts = |steps, asked, delivered, stalled| PoolCounts {
            steps,
            asked,
            delivered,
            stalled,
        };
        let base = tempfile::tempdir().unwrap();
        let dir = StateDir::new(base.path(), "n1").unwrap();
        dir.prepare().unwrap();
        let add = |pool, more| add_to_pool(&dir, "n1", (pool, more)).unwrap();
        add("multi8", counts(1, 80_000_000, 78_100_000, 7));
        add("multi4", counts(1, 4, 3, 0));
        add("multi8", counts(1, 10_000_000, 1_900_001, 1_000_000));
        let written = std::fs::read_to_string(dir.path().join(POOLS)).unwrap();
        for line in [
            "berth_pool_ended_steps_total{node=\"n1\",pool=\"multi8\"} 2",
            "berth_pool_asked_cpu_seconds_total{node=\"n1\",pool=\"multi8\"} 90.000000",
            "berth_pool_delivered_cpu_seconds_total{node=\"n1\",pool=\"multi8\"} 80.000001",
            "berth_pool_stalled_seconds_total{node=\"n1\",pool=\"multi8\"} 1.000007",
            "berth_pool_delivered_cpu_seconds_total{node=\"n1\",pool=\"multi4\"} 0.000003",
        ] {
            assert!(
                written.lines().any(|found| found == line),
                "{line}: {written}"
            );
        }
        assert_eq!(text("n1", &parse(&written)), written);
        for foreign in [
            "",
            "berth_pool_ended_steps_total{",
            "berth_pool_ended_steps_total{a,pool=\"x\"} y",
            "\u{0}",
        ] {
            assert!(parse(foreign).is_empty(), "{foreign}");
        }
    }
}
