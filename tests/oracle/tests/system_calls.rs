//! The launch hook makes no system call but those of the list beside this file.

use std::path::Path;
use std::process::Command;

/// There is no Slurm.
const NOT_HERE: i32 = 77;

#[test]
fn the_launch_hook_makes_the_listed_system_calls_only() {
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hook_calls.txt");
    let mut calls = Command::new(env!("CARGO_BIN_EXE_launch-calls"));
    let done = calls.arg("hook").arg(list).output();
    let done = done.expect("the program was built with this test");
    let errors = String::from_utf8_lossy(&done.stderr);
    if done.status.code() == Some(NOT_HERE) {
        let in_ci = std::env::var_os("CI").is_some_and(|value| value == "true");
        assert!(!in_ci, "CI must have a Slurm: {errors}");
        return berth_tests::skip(errors.trim());
    }
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{said}{errors}");
}
