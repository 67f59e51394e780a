//! Under `compat=affinity` slurmd goes on with the very masks that the distribution's own
//! task/affinity would have given it.

use std::process::Command;

const REQUESTS: &str = "200000";
const SEED: &str = "1";
/// There is nothing to compare with.
const NOT_HERE: i32 = 77;

#[test]
fn two_hundred_thousand_requests_are_answered_as_by_task_affinity() {
    let done = Command::new(env!("CARGO_BIN_EXE_affinity-oracle"))
        .args(["--requests", REQUESTS, "--seed", SEED])
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
}
