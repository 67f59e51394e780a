//! Whatever a user's own client puts into a launch message: the hooks return, take no more than
//! 64 MB, lose no memory, keep no lock, and Slurm alone writes the lines of the log.
//! `BERTH_ORACLE_MESSAGES` and `BERTH_ORACLE_SEED` ask for more messages and for the same again.

use std::fs::OpenOptions;
use std::io::Write;
use std::process::Command;

/// There is no Slurm.
const NOT_HERE: i32 = 77;

#[test]
fn no_message_hurts_slurmd() {
    let messages = std::env::var("BERTH_ORACLE_MESSAGES").unwrap_or("10000".into());
    let mut fuzz = Command::new(env!("CARGO_BIN_EXE_launch-fuzz"));
    fuzz.args(["--messages", &messages]);
    if let Ok(seed) = std::env::var("BERTH_ORACLE_SEED") {
        fuzz.args(["--seed", &seed]);
    }
    let done = fuzz.output().expect("the program was built with this test");
    let errors = String::from_utf8_lossy(&done.stderr);
    if done.status.code() == Some(NOT_HERE) {
        let in_ci = std::env::var_os("CI").is_some_and(|value| value == "true");
        assert!(!in_ci, "CI must have a Slurm: {errors}");
        return berth_tests::skip(errors.trim());
    }
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{said}{errors}");
    if let Some(file) = std::env::var_os("BERTH_SUMMARY_FILE") {
        let file = OpenOptions::new().append(true).create(true).open(file);
        file.and_then(|mut file| file.write_all(said.as_bytes()))
            .expect("the file of BERTH_SUMMARY_FILE can be written");
    }
}
