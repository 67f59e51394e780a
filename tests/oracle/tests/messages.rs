//! Whatever a user's own client puts into a launch message: the hooks return, take no more than
//! 64 MB, lose no memory, keep no lock, and Slurm alone writes the lines of the log.
//! `BERTH_ORACLE_MESSAGES` and `BERTH_ORACLE_SEED` ask for more messages and for the same again.

use std::process::Command;

use berth_oracle::program::{prove, summarise, variable};

#[test]
fn no_message_hurts_slurmd() {
    let mut fuzz = Command::new(env!("CARGO_BIN_EXE_launch-fuzz"));
    fuzz.args(["--messages", &variable("BERTH_ORACLE_MESSAGES", "10000")]);
    if let Ok(seed) = std::env::var("BERTH_ORACLE_SEED") {
        fuzz.args(["--seed", &seed]);
    }
    summarise(&prove(&mut fuzz));
}
