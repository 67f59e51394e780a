//! The metrics of this host's nodes in the format of Prometheus.

use std::fmt::{self, Write};

use strum::{Display, EnumIter, EnumMessage, IntoEnumIterator};

use super::{Count, Metrics};

/// Names and meanings of the counts of a pool, in the order of the text.
const POOL_COUNTS: [(&str, &str); 4] = [
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

/// The state of berth on a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Display, EnumIter)]
#[strum(serialize_all = "lowercase")]
pub enum State {
    /// It works.
    #[default]
    Working,
    /// It stands aside; slurmd's log and `berth doctor` have the reason.
    Inert,
    /// An administrator has switched it off.
    Off,
}

/// The facts about a node beside its counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The node's name.
    pub node: String,
    /// The release of berth in slurmd.
    pub version: String,
    /// `berth`, or `affinity` with the fixes that are switched on.
    pub compat: String,
    /// Whether berth works there.
    pub state: State,
}

/// The text. A metric is described once, whatever the number of nodes.
#[must_use]
pub fn text(nodes: &[(Facts, Metrics)]) -> String {
    let mut text = String::new();
    // A String takes everything.
    let _ = write_facts(&mut text, nodes)
        .and_then(|()| write_counts(&mut text, nodes))
        .and_then(|()| write_pools(&mut text, nodes));
    text
}

fn describe(text: &mut String, name: &str, help: &str, kind: &str) -> fmt::Result {
    writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}")
}

fn write_facts(text: &mut String, nodes: &[(Facts, Metrics)]) -> fmt::Result {
    let help = "The release of berth and its compat setting.";
    describe(text, "berth_info", help, "gauge")?;
    for (facts, _) in nodes {
        let labels = [&facts.node, &facts.version, &facts.compat];
        let [node, version, compat] = labels.map(|value| escaped(value));
        writeln!(
            text,
            "berth_info{{node=\"{node}\",version=\"{version}\",compat=\"{compat}\"}} 1"
        )?;
    }
    let help = "1 for the state of berth on this node.";
    describe(text, "berth_state", help, "gauge")?;
    for (facts, _) in nodes {
        for state in State::iter() {
            let (node, is_it) = (escaped(&facts.node), u8::from(state == facts.state));
            writeln!(
                text,
                "berth_state{{node=\"{node}\",state=\"{state}\"}} {is_it}"
            )?;
        }
    }
    Ok(())
}

fn write_counts(text: &mut String, nodes: &[(Facts, Metrics)]) -> fmt::Result {
    for count in Count::iter() {
        let name: &str = count.into();
        // A comment of several lines is one text.
        let help = count.get_documentation().unwrap_or_default();
        describe(text, name, help.replace('\n', " ").trim_end(), "counter")?;
        for (facts, metrics) in nodes {
            let (node, value) = (escaped(&facts.node), shown(name, metrics.get(count)));
            writeln!(text, "{name}{{node=\"{node}\"}} {value}")?;
        }
    }
    Ok(())
}

/// Nothing where no pool was counted.
fn write_pools(text: &mut String, nodes: &[(Facts, Metrics)]) -> fmt::Result {
    let pools = nodes.iter().flat_map(|(facts, metrics)| {
        let pools = metrics.pools().into_iter();
        pools.map(|(pool, values)| (escaped(&facts.node), pool, values))
    });
    let pools: Vec<_> = pools.collect();
    if pools.is_empty() {
        return Ok(());
    }
    for (at, (name, help)) in POOL_COUNTS.into_iter().enumerate() {
        describe(text, name, help, "counter")?;
        for (node, pool, values) in &pools {
            let value = shown(name, values.get(at).copied().unwrap_or_default());
            writeln!(text, "{name}{{node=\"{node}\",pool=\"{pool}\"}} {value}")?;
        }
    }
    Ok(())
}

/// Times are counted in microseconds and shown in seconds.
fn shown(name: &str, value: u64) -> String {
    match name.ends_with("_seconds_total") {
        true => format!("{}.{:06}", value / 1_000_000, value % 1_000_000),
        false => value.to_string(),
    }
}

/// A label's value as the format wants it.
fn escaped(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    value.replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StateDir;
    use crate::metrics::{Mapped, PoolCounts};

    #[test]
    fn the_text_has_the_facts_and_all_counts_of_each_node() {
        let base = tempfile::tempdir().unwrap();
        let node = |name: &str, launches| {
            let dir = StateDir::new(base.path(), name).unwrap();
            let words = Mapped::open(&dir).unwrap();
            words.add(Count::Launches, launches);
            words.add(Count::OthersWaited, 61_000_007);
            words.add_to_pool(
                "multi8",
                PoolCounts {
                    steps: launches,
                    requested: 90_000_000,
                    ..PoolCounts::default()
                },
            );
            let facts = Facts {
                node: name.into(),
                version: "1.2.3".into(),
                compat: "affinity with \"x\"".into(),
                state: State::Off,
            };
            (facts, Metrics::read(&dir).unwrap())
        };
        let text = text(&[node("n1", 2), node("n2", 3)]);
        for line in [
            "berth_info{node=\"n1\",version=\"1.2.3\",compat=\"affinity with \\\"x\\\"\"} 1",
            "berth_state{node=\"n2\",state=\"working\"} 0",
            "berth_state{node=\"n2\",state=\"off\"} 1",
            "berth_launches_total{node=\"n1\"} 2",
            "berth_launches_total{node=\"n2\"} 3",
            "berth_refused_total{node=\"n1\"} 0",
            "berth_pool_others_waited_seconds_total{node=\"n1\"} 61.000007",
            "berth_pool_ended_steps_total{node=\"n2\",pool=\"multi8\"} 3",
            "berth_pool_asked_cpu_seconds_total{node=\"n2\",pool=\"multi8\"} 90.000000",
            "# TYPE berth_tasks_unbound_switched_off_total counter",
        ] {
            let times = text.lines().filter(|found| *found == line).count();
            assert_eq!(times, 1, "{line}: {text}");
        }
        let none = super::text(&[(Facts::default(), Metrics::default())]);
        assert!(!none.contains("pool="), "{none}");
    }
}
