//! Under `compat=affinity` slurmd goes on with the very masks that the distribution's own
//! task/affinity would have given it; by default each difference is a named fix's. Whatever a user's own client puts
//! into a launch message: the hooks return, take no more than 64 MB, lose no memory, keep no lock, and Slurm alone
//! writes the lines of the log. The launch hook makes no system call but those of the list beside this file.
//!
//! `BERTH_ORACLE_REQUESTS`, `BERTH_ORACLE_MESSAGES` and `BERTH_ORACLE_SEED` ask for more and for others.

use std::fs::OpenOptions;
use std::io::Write;
use std::process::Command;

/// Runs the program with these words; without a Slurm the test is skipped, but not in CI.
fn prove(words: &[&str]) {
    let program = env!("CARGO_BIN_EXE_berth-oracle");
    let done = Command::new(program).args(words).output();
    let done = done.expect("the program was built with this test");
    let errors = String::from_utf8_lossy(&done.stderr);
    if done.status.code() == Some(77) {
        let in_ci = std::env::var("CI").is_ok_and(|value| value == "true");
        assert!(!in_ci, "CI must have a Slurm: {errors}");
        return berth_tests::skip(errors.trim());
    }
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{said}{errors}");
    // Whoever runs the tests reads the numbers.
    if let Some(file) = std::env::var_os("BERTH_SUMMARY_FILE") {
        let file = OpenOptions::new().append(true).create(true).open(file);
        file.and_then(|mut file| write!(file, "{words:?}: {said}"))
            .expect("the file of BERTH_SUMMARY_FILE can be written");
    }
}

fn variable(name: &str, usual: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| usual.into())
}

fn compare(requests: &str, how: &[&str]) {
    let requests = variable("BERTH_ORACLE_REQUESTS", requests);
    let seed = variable("BERTH_ORACLE_SEED", "1");
    prove(&[&["compare", "--requests", &requests, "--seed", &seed], how].concat());
}

#[test]
fn two_hundred_thousand_requests_are_answered_as_by_task_affinity() {
    compare("200000", &[]);
}

#[test]
fn every_difference_of_the_default_is_claimed_by_a_fix_and_gone_without_it() {
    compare("100000", &["--by-fix"]);
}

#[test]
fn no_message_hurts_slurmd() {
    let messages = variable("BERTH_ORACLE_MESSAGES", "10000");
    let words = ["messages", "--requests", &messages];
    match std::env::var("BERTH_ORACLE_SEED") {
        Ok(seed) => prove(&[words.as_slice(), &["--seed", &seed]].concat()),
        Err(_) => prove(&words),
    }
}

#[test]
fn the_launch_hook_makes_the_listed_system_calls_only() {
    let list = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hook_calls.txt");
    prove(&["calls", list]);
}
