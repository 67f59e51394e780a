//! `berth plan --pool` on a node whose slurmd has announced a pool of eight CPUs.

use std::process::Command;

use berth_host::StateDir;
use berth_host::announcement;
use berth_site::announcement::{AnnouncedPool, Announcement};

/// What the command says of the pool, on a node of 16 cores.
fn notes(line: &str) -> String {
    let state = tempfile::tempdir().expect("a folder");
    let dir = StateDir::new(state.path(), "n1").expect("a folder of the node");
    std::fs::create_dir_all(dir.path()).expect("a folder");
    let pool = AnnouncedPool {
        name: "multi8".into(),
        partition: "multi8".into(),
        cpus: 8,
        weight: 10_000,
        export: "NCPUS".into(),
    };
    let words = Announcement {
        pools: vec![pool],
        ..Announcement::default()
    };
    announcement::write(&dir, &words).expect("slurmd's words");
    let output = Command::new(env!("CARGO_BIN_EXE_berth"))
        .args(["plan", "--pool=multi8"])
        .args(shlex::split(line).expect("words"))
        .env("BERTH_STATE_DIR", state.path())
        .env("HWLOC_SYNTHETIC", "pack:1 core:16 pu:1")
        .output()
        .expect("berth starts");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}");
    text
}

#[track_caller]
fn says(line: &str, expected: &str) {
    let notes = notes(line);
    assert!(notes.contains(expected), "{line}: {notes}");
}

#[test]
fn a_pool_counts_the_cpus_of_the_job() {
    says("-n2", "gives this job the weight 2500 and every other");
    says(
        "--job 'salloc -n2' --exact -n1",
        "gives this job the weight 2500 and every other",
    );
    says("--cores 0-3 -n1", "gives this job the weight 5000");
    says("--cpus 0-3 -n1", "gives this job the weight 5000");
}

#[test]
fn a_step_of_a_job_that_is_too_wide_is_outside() {
    let outside = "a job with 16 CPUs runs outside of the pool multi8, which owns at most 8 here";
    says("-n16", outside);
    says("--job 'salloc -n16' --exact -n2", outside);
    says("--job 'salloc -n8' --exact -n2", "the weight 10000");
}
