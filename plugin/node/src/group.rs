//! The ledger's entries of each cpuset.

use std::collections::HashMap;

use berth_host::ledger::{Entry, StepKey};

/// The steps that share a cpuset: those of a job, or one alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Unit {
    pub job: u32,
    step: Option<StepKey>,
}

impl Unit {
    /// The unit of an entry; none if it is no cpuset.
    fn of(entry: &Entry) -> Option<Self> {
        let cpuset = entry.cpuset?;
        Some(Self {
            job: entry.step.job,
            step: (!cpuset.of_job).then_some(entry.step),
        })
    }
}

/// The entries of a cpuset.
#[derive(Debug, Default)]
pub(crate) struct Group {
    /// The cpuset's own, the latest choice last.
    pub cpusets: Vec<Entry>,
    /// The bindings of its steps inside it.
    pub bindings: Vec<Entry>,
}

impl Group {
    /// All of a ledger.
    pub(crate) fn all(entries: &[Entry]) -> HashMap<Unit, Self> {
        let mut groups: HashMap<Unit, Self> = HashMap::new();
        let mut cpusets: Vec<_> = entries
            .iter()
            .filter_map(|entry| Some((Unit::of(entry)?, entry)))
            .collect();
        cpusets.sort_by_key(|(_, entry)| (entry.generation, entry.made));
        for (unit, entry) in cpusets {
            let group = groups.entry(unit).or_default();
            group.cpusets.push(entry.clone());
            let is_bound =
                |one: &&Entry| one.step == entry.step && one.cpuset.is_none() && !one.pool;
            let bound = entries.iter().filter(is_bound);
            group.bindings.extend(bound.cloned());
        }
        groups
    }

    /// The entries of steps whose tasks have started in cgroups of their own: what can be moved.
    pub(crate) fn started(&self) -> impl Iterator<Item = &Entry> {
        let is_started = |entry: &&Entry| entry.task.is_some() && !entry.leaves.is_empty();
        self.cpusets.iter().filter(is_started)
    }

    pub(crate) fn waits(&self) -> bool {
        self.cpusets.iter().any(|entry| entry.waits)
    }
}
