//! Under `compat=affinity` slurmd goes on with the very masks that the distribution's own
//! task/affinity would have given it; by default each difference is a named fix's.
//! `BERTH_ORACLE_REQUESTS` and `BERTH_ORACLE_SEED` ask for more requests and for others.

use std::process::Command;

use berth_oracle::program::{prove, summarise, variable};

#[test]
fn two_hundred_thousand_requests_are_answered_as_by_task_affinity() {
    compare("200000", &[]);
}

#[test]
fn every_difference_of_the_default_is_claimed_by_a_fix_and_gone_without_it() {
    compare("100000", &["--by-fix", "--chunk", "5000"]);
}

fn compare(requests: &str, how: &[&str]) {
    let mut oracle = Command::new(env!("CARGO_BIN_EXE_affinity-oracle"));
    oracle
        .args(["--requests", &variable("BERTH_ORACLE_REQUESTS", requests)])
        .args(["--seed", &variable("BERTH_ORACLE_SEED", "1")])
        .args(how);
    summarise(&prove(&mut oracle));
}
