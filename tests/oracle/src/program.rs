//! A program of this crate as a test.

use std::fs::OpenOptions;
use std::io::Write;
use std::process::Command;

use crate::arguments::NOT_HERE;

/// Runs a program that proves something, and gives what it said. Where it has no Slurm to do that with, the test is
/// skipped, but not in CI.
///
/// # Panics
/// A program that failed.
pub fn prove(program: &mut Command) -> String {
    let done = program
        .output()
        .expect("the program was built with this test");
    let errors = String::from_utf8_lossy(&done.stderr);
    if done.status.code() == Some(NOT_HERE.into()) {
        let in_ci = std::env::var_os("CI").is_some_and(|value| value == "true");
        assert!(!in_ci, "CI must have a Slurm: {errors}");
        berth_tests::skip(errors.trim());
        return String::new();
    }
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{said}{errors}");
    said.into_owned()
}

/// Adds numbers to the file that whoever runs the tests reads.
///
/// # Panics
/// A file that cannot be written.
pub fn summarise(text: &str) {
    if let Some(file) = std::env::var_os("BERTH_SUMMARY_FILE") {
        let file = OpenOptions::new().append(true).create(true).open(file);
        file.and_then(|mut file| file.write_all(text.as_bytes()))
            .expect("the file of BERTH_SUMMARY_FILE can be written");
    }
}

/// A variable of the environment, or what is usual.
#[must_use]
pub fn variable(name: &str, usual: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| usual.into())
}
