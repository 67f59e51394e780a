//! The launch hook makes no system call but those of the list beside this file.

use std::path::Path;
use std::process::Command;

use berth_oracle::program::prove;

#[test]
fn the_launch_hook_makes_the_listed_system_calls_only() {
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hook_calls.txt");
    let mut calls = Command::new(env!("CARGO_BIN_EXE_launch-calls"));
    prove(calls.arg("hook").arg(list));
}
