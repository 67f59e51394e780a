//! What the ledger says of the cpusets of jobs that are suspended, or wait for their CPUs.

mod ledger_node;
mod sleeper;

use berth_host::ledger::{Cpuset, Entry, OwnEntry};
use nix::sys::signal::Signal;

use ledger_node::{Node, PATIENCE, entry, hold, node, set, step};
use sleeper::Sleeper;

/// The entry of a step in its job's cpuset, whose slurmstepd is this process.
fn in_cpuset(node: &Node, job: u32, number: u32) -> OwnEntry {
    let cpuset = Cpuset {
        exclusive: true,
        of_job: true,
        memory: false,
    };
    let entry = Entry {
        step: step(job, number),
        cpuset: Some(cpuset),
        ..entry(job, "0-3")
    };
    hold(&node.ledger(), entry)
}

/// Only where a service moves resumed jobs a suspended one leaves its cpuset to others.
#[test]
fn a_suspended_job_keeps_its_cpuset_without_a_service() {
    let node = node();
    let task = Sleeper::start();
    let mut held = in_cpuset(&node, 1, 0);
    held.started(task.pid(), Vec::new()).unwrap();
    task.signal(Signal::SIGSTOP, true);
    let taken = || {
        let ledger = node.ledger();
        let session = ledger.session(PATIENCE).unwrap();
        let others = session.others(step(2, 0), &set("0-15"));
        (session.has_service(), others.now().taken.to_string())
    };
    assert_eq!(taken(), (false, "0-3".into()));
    let life = node.ledger().into_service().unwrap();
    assert!(life.is_some());
    let second = node.ledger().into_service().unwrap();
    assert!(second.is_none(), "one at a time");
    assert_eq!(taken(), (true, String::new()));
    drop(life);
    assert_eq!(taken(), (false, "0-3".into()));
}

/// A job that waits again and again for days does not fill the disk, and its last entry counts.
#[test]
fn an_entry_that_changes_often_stays_small() {
    let node = node();
    let held = in_cpuset(&node, 1, 0);
    let ledger = node.ledger();
    let mut session = ledger.session(PATIENCE).unwrap();
    for generation in 1..=20_000 {
        let before = session.entries()[0].clone();
        let after = Entry {
            generation,
            ..before.clone()
        };
        session.change(&before, &after).unwrap();
    }
    drop(session);
    let entries = berth_host::ledger::look(&node.dir).unwrap();
    assert_eq!(entries[0].generation, 20_000);
    let file = std::fs::metadata(entries[0].file.as_ref().unwrap()).unwrap();
    let blocks = std::os::unix::fs::MetadataExt::blocks(&file) * 512;
    assert!(blocks < 4 << 20, "{blocks} of {} bytes", file.len());
    held.release().unwrap();
}
