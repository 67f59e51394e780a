//! Counts of a node, and the text in which monitoring reads them: the format of Prometheus, as
//! node_exporter's textfile collector takes it.
//! In: events. Out: `berth.prom` in the node's state directory ([`store`]).

mod pools;
mod store;

use std::fmt::{self, Write};

pub use self::pools::{POOLS, PoolCounts, add_to_pool};
pub use self::store::{COUNTS, add, publish, remove};
use crate::state::StateDir;
use crate::trusted_file::{self, ReadError};

/// The public file's name in the state directory.
pub const NAME: &str = "berth.prom";
/// Far more than the file can have.
const MOST: u64 = 64 << 10;
/// The number of counts.
const KINDS: usize = 14;

/// The counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Steps and batch scripts that ran here with berth.
    pub launches: u64,
    /// Tasks that were bound.
    pub bound: u64,
    /// Tasks that were left unbound, for whatever reason.
    pub unbound: u64,
    /// Steps and scripts that were refused.
    pub refused: u64,
    /// Tasks for which the kernel did not have what was planned.
    pub differences: u64,
    /// Those of the unbound tasks that were launched while berth was switched off.
    pub switched_off: u64,
    /// Those of the unbound tasks for which a `--binding` failed.
    pub binding_failed: u64,
    /// Steps and scripts that Slurm gave some of the reserved CPUs.
    pub reserved_granted: u64,
    /// Those of them that have no others, and run there.
    pub reserved_used: u64,
    /// Those of the bound tasks that were confined to their CPUs.
    pub confined: u64,
    /// Those of the bound tasks that were to be confined, and are not.
    pub not_confined: u64,
    /// Steps and scripts of jobs that are in a pool.
    pub in_pool: u64,
    /// Those that ran outside of their pool, because it or the node's pools were full.
    pub pool_full: u64,
    /// Microseconds in which the tasks of a step outside of pools, on a node that has pools, wanted a CPU and none of them had one.
    pub others_waited: u64,
}

/// Names and meanings, in the order of the files.
const NAMES: [(&str, &str); KINDS] = [
    (
        "berth_launches_total",
        "Steps and batch scripts that ran with berth.",
    ),
    ("berth_tasks_bound_total", "Tasks that were bound."),
    (
        "berth_tasks_unbound_total",
        "Tasks that were left unbound, for whatever reason.",
    ),
    (
        "berth_refused_total",
        "Steps and batch scripts that were refused.",
    ),
    (
        "berth_readback_differences_total",
        "Tasks for which the kernel did not have what was planned.",
    ),
    (
        "berth_tasks_unbound_switched_off_total",
        "Unbound tasks that were launched while berth was switched off.",
    ),
    (
        "berth_tasks_unbound_binding_failed_total",
        "Unbound tasks for which a --binding failed.",
    ),
    (
        "berth_reserved_granted_total",
        "Steps and batch scripts that Slurm gave some of the reserved CPUs.",
    ),
    (
        "berth_reserved_used_total",
        "Steps and batch scripts that run on reserved CPUs, because Slurm gave them no others.",
    ),
    (
        "berth_tasks_confined_total",
        "Bound tasks that were confined to their CPUs.",
    ),
    (
        "berth_tasks_not_confined_total",
        "Bound tasks that should have been confined to their CPUs, and were not.",
    ),
    (
        "berth_pool_steps_total",
        "Steps and batch scripts of jobs that are in a pool.",
    ),
    (
        "berth_pool_full_total",
        "Steps and batch scripts that ran outside of their pool, because it was full.",
    ),
    (
        OTHERS_WAITED,
        "Seconds in which tasks of a step wanted a CPU and none of them had one: steps that have ended, outside of pools, \
         on a node that has pools.",
    ),
];
/// The one count that is a time: microseconds in the private file, seconds in the public one.
const OTHERS_WAITED: &str = "berth_pool_others_waited_seconds_total";

/// The state of berth on a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// It works.
    #[default]
    Working,
    /// It stands aside; slurmd's log and `berth doctor` have the reason.
    Inert,
    /// An administrator has switched it off.
    Off,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Working => "working",
            Self::Inert => "inert",
            Self::Off => "off",
        })
    }
}

/// The facts in the file beside the counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The node's name.
    pub node: String,
    /// `berth`, or `affinity` with the fixes that are switched on.
    pub compat: String,
    /// Whether berth works there.
    pub state: State,
}

impl Counters {
    fn values(&self) -> [u64; KINDS] {
        [
            self.launches,
            self.bound,
            self.unbound,
            self.refused,
            self.differences,
            self.switched_off,
            self.binding_failed,
            self.reserved_granted,
            self.reserved_used,
            self.confined,
            self.not_confined,
            self.in_pool,
            self.pool_full,
            self.others_waited,
        ]
    }

    fn of(values: [u64; KINDS]) -> Self {
        let [
            launches,
            bound,
            unbound,
            refused,
            differences,
            switched_off,
            binding_failed,
            reserved_granted,
            reserved_used,
            confined,
            not_confined,
            in_pool,
            pool_full,
            others_waited,
        ] = values;
        Self {
            launches,
            bound,
            unbound,
            refused,
            differences,
            switched_off,
            binding_failed,
            reserved_granted,
            reserved_used,
            confined,
            not_confined,
            in_pool,
            pool_full,
            others_waited,
        }
    }

    /// Both together.
    #[must_use]
    pub fn plus(&self, more: &Self) -> Self {
        let mut sum = self.values();
        for (value, more) in sum.iter_mut().zip(more.values()) {
            *value = value.saturating_add(more);
        }
        Self::of(sum)
    }

    /// Reads the public file's text; a missing count is 0.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let value = |name: &str| {
            let line = text.lines().find(|line| {
                line.strip_prefix(name)
                    .is_some_and(|rest| rest.starts_with(['{', ' ']))
            });
            let last = line.and_then(|line| line.rsplit(' ').next());
            last.and_then(|number| value_of(name, number)).unwrap_or(0)
        };
        Self::of(NAMES.map(|(name, _)| value(name)))
    }

    /// The public file's text.
    #[must_use]
    pub fn text(&self, facts: &Facts) -> String {
        let mut text = String::new();
        let node = escaped(&facts.node);
        // A String takes everything.
        let _ = writeln!(
            text,
            "# HELP berth_info The release of berth and its compat setting.\n# TYPE berth_info \
             gauge\nberth_info{{node=\"{node}\",version=\"{}\",compat=\"{}\"}} 1",
            env!("CARGO_PKG_VERSION"),
            escaped(&facts.compat)
        );
        let _ = writeln!(
            text,
            "# HELP berth_state 1 for the state of berth on this node.\n# TYPE berth_state gauge"
        );
        for state in [State::Working, State::Inert, State::Off] {
            let is_it = u8::from(state == facts.state);
            let _ = writeln!(
                text,
                "berth_state{{node=\"{node}\",state=\"{state}\"}} {is_it}"
            );
        }
        for ((name, help), value) in NAMES.iter().zip(self.values()) {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} counter");
            let _ = writeln!(text, "{name}{{node=\"{node}\"}} {}", shown(name, value));
        }
        text
    }
}

/// A count as the public file has it.
fn shown(name: &str, value: u64) -> String {
    match name {
        OTHERS_WAITED => seconds(value),
        _ => value.to_string(),
    }
}

/// The same, read again.
fn value_of(name: &str, text: &str) -> Option<u64> {
    match name {
        OTHERS_WAITED => microseconds(text),
        _ => text.parse().ok(),
    }
}

/// Seconds have six digits behind the point.
fn seconds(microseconds: u64) -> String {
    format!(
        "{}.{:06}",
        microseconds / 1_000_000,
        microseconds % 1_000_000
    )
}

fn microseconds(seconds: &str) -> Option<u64> {
    seconds.replace('.', "").parse().ok()
}

/// A label's value as the format wants it.
fn escaped(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for letter in value.chars() {
        match letter {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            letter => text.push(letter),
        }
    }
    text
}

/// The public file's text, as only root can have written it.
///
/// # Errors
/// [`ReadError`], also where nothing was counted yet.
pub fn read(dir: &StateDir) -> Result<String, ReadError> {
    let bytes = trusted_file::read(&dir.path().join(NAME), MOST)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Facts {
        Facts {
            node: "n 1".into(),
            compat: "affinity with \"x\"".into(),
            state: State::Off,
        }
    }

    #[test]
    fn any_text_is_read() {
        for text in [
            "",
            "berth_launches_total",
            "berth_launches_total{node=\"a b\"} x",
            "\n\n{",
        ] {
            assert_eq!(Counters::parse(text), Counters::default(), "{text}");
        }
        let some = Counters {
            launches: u64::MAX,
            differences: 2,
            unbound: 7,
            switched_off: 3,
            binding_failed: 4,
            reserved_granted: 6,
            reserved_used: 5,
            confined: 8,
            not_confined: 9,
            others_waited: 61_000_007,
            ..Counters::default()
        };
        let text = some.text(&facts());
        assert_eq!(Counters::parse(&text), some);
        let waited = "berth_pool_others_waited_seconds_total{node=\"n 1\"} 61.000007";
        assert!(text.lines().any(|line| line == waited), "{text}");
        assert_eq!(some.plus(&some).launches, u64::MAX);
        assert_eq!(some.plus(&some).switched_off, 6);
    }

    #[test]
    fn the_text_says_release_behaviour_and_state() {
        let text = Counters::default().text(&facts());
        let version = env!("CARGO_PKG_VERSION");
        for line in [
            format!(
                "berth_info{{node=\"n 1\",version=\"{version}\",compat=\"affinity with \\\"x\\\"\"}} 1"
            ),
            "berth_state{node=\"n 1\",state=\"working\"} 0".into(),
            "berth_state{node=\"n 1\",state=\"off\"} 1".into(),
            "# TYPE berth_tasks_unbound_switched_off_total counter".into(),
        ] {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
    }
}
