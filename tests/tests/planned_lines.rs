//! What `berth plan` says of 200 lines before they are submitted is what the steps get. They are the random lines of one
//! seed; `BERTH_LINES_SEED` gives another one.

use std::process::Command;

use berth_tests::{Done, hostile};

/// Lines that once failed are among the command's own tests.
const SEED: &str = "11";

#[test]
fn random_lines_get_what_was_planned() {
    // The tasks of the steps run the program too.
    let mut program = Command::new(env!("CARGO_BIN_EXE_berth-real"));
    program
        .arg("random")
        .arg(std::env::var("BERTH_LINES_SEED").unwrap_or_else(|_| SEED.into()));
    let done = Done::from(program.output().unwrap());
    println!("{}{}", done.stdout, done.stderr);
    hostile::say(done.stdout.lines().last().unwrap_or_default());
    assert!(done.ok());
}
