//! Under `compat=affinity` slurmd goes on with the very masks that the distribution's own
//! task/affinity would have given it; by default each difference is a named fix's.
//! `BERTH_ORACLE_REQUESTS` and `BERTH_ORACLE_SEED` ask for more requests and for others.

use std::fs::OpenOptions;
use std::io::Write;
use std::process::Command;

/// There is nothing to compare with.
const NOT_HERE: i32 = 77;

#[test]
fn two_hundred_thousand_requests_are_answered_as_by_task_affinity() {
    compare("200000", &[]);
}

#[test]
fn every_difference_of_the_default_is_claimed_by_a_fix_and_gone_without_it() {
    compare("100000", &["--by-fix", "--chunk", "5000"]);
}

fn compare(requests: &str, how: &[&str]) {
    let or = |name: &str, usual: &str| std::env::var(name).unwrap_or_else(|_| usual.into());
    let done = Command::new(env!("CARGO_BIN_EXE_affinity-oracle"))
        .args(["--requests", &or("BERTH_ORACLE_REQUESTS", requests)])
        .args(["--seed", &or("BERTH_ORACLE_SEED", "1")])
        .args(how)
        .output()
        .expect("the comparing program was built with this test");
    let errors = String::from_utf8_lossy(&done.stderr);
    if done.status.code() == Some(NOT_HERE) {
        let in_ci = std::env::var_os("CI").is_some_and(|value| value == "true");
        assert!(!in_ci, "CI must have a Slurm to compare with: {errors}");
        return berth_tests::skip(errors.trim());
    }
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{said}{errors}");
    summarise(&said);
}

/// For whoever runs the tests: the numbers, into the file that they name.
fn summarise(text: &str) {
    if let Some(file) = std::env::var_os("BERTH_SUMMARY_FILE") {
        let file = OpenOptions::new().append(true).create(true).open(file);
        file.and_then(|mut file| file.write_all(text.as_bytes()))
            .expect("the file of BERTH_SUMMARY_FILE can be written");
    }
}
