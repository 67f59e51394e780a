//! A node with a ledger, and steps to write into it.
#![allow(dead_code, reason = "each test program uses a part")]

use std::path::Path;
use std::time::Duration;

use berth_host::StateDir;
use berth_host::ledger::{Entry, Ledger, OwnEntry, StepKey};
use berth_placement::CpuSet;

pub const PATIENCE: Duration = Duration::from_secs(60);

pub struct Node {
    base: tempfile::TempDir,
    pub dir: StateDir,
}

impl Node {
    /// The state directory of all nodes of this host.
    pub fn base(&self) -> &Path {
        self.base.path()
    }

    pub fn ledger(&self) -> Ledger {
        Ledger::open(&self.dir).unwrap()
    }
}

pub fn node() -> Node {
    let base = tempfile::tempdir().unwrap();
    let dir = StateDir::new(base.path(), "n1").unwrap();
    dir.prepare().unwrap();
    Node { base, dir }
}

pub fn set(list: &str) -> CpuSet {
    CpuSet::from_list(list).unwrap()
}

pub fn step(job: u32, step: u32) -> StepKey {
    StepKey {
        job,
        step,
        component: u32::MAX - 1,
    }
}

pub fn entry(job: u32, cpus: &str) -> Entry {
    Entry {
        step: step(job, 0),
        tasks: 1,
        request: "linear:1".into(),
        cpus: set(cpus),
        ..Entry::default()
    }
}

/// An entry of this process.
pub fn hold(ledger: &Ledger, entry: Entry) -> OwnEntry {
    ledger.session(PATIENCE).unwrap().hold(entry).unwrap()
}

/// Adds an entry of this process, which stays until the process ends.
pub fn add(ledger: &Ledger, entry: Entry) {
    std::mem::forget(hold(ledger, entry));
}

pub fn live(ledger: &Ledger, near: &str) -> Vec<u32> {
    let session = ledger.session(PATIENCE).unwrap();
    let mut entries = session.entries().to_vec();
    let others = session.others(step(0, 0), &set(near));
    entries.retain(|entry| entry.cpus.intersects(&set(near)));
    assert_eq!(others.has_jobs(), !entries.is_empty());
    let mut jobs: Vec<_> = entries.iter().map(|entry| entry.step.job).collect();
    jobs.sort_unstable();
    jobs
}
