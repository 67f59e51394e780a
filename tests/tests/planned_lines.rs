//! What `berth plan` says of random lines before they are submitted is what the steps get. Each run has a new seed,
//! which is printed; `BERTH_LINES_SEED` repeats it.

use std::process::Command;

use berth_tests::{Done, hostile};

#[test]
fn random_lines_get_what_was_planned() {
    // The tasks of the steps run the program too.
    let mut program = Command::new(env!("CARGO_BIN_EXE_berth-real"));
    program
        .arg("random")
        .args(std::env::var("BERTH_LINES_SEED"));
    let done = Done::from(program.output().unwrap());
    println!("{}{}", done.stdout, done.stderr);
    hostile::say(done.stdout.lines().last().unwrap_or_default());
    assert!(done.ok());
}
