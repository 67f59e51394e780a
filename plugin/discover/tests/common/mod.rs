//! How the random tests run: with a seed that they print, so that what fails once can be repeated.

use std::time::{SystemTime, UNIX_EPOCH};

use proptest::test_runner::{Config, RngSeed};

/// A configuration for `cases` cases, or `PROPTEST_CASES`, with a seed of this moment, or `BERTH_SEED`. The test's
/// output, which is shown when it fails, has the seed.
pub fn config(cases: u32) -> Config {
    let given = |name: &str| std::env::var(name).ok();
    let cases = given("PROPTEST_CASES").map_or(cases, |text| text.parse().expect("a number"));
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_nanos() as u64);
    let seed = given("BERTH_SEED").map_or(now, |text| text.parse().expect("a number"));
    println!("seed {seed}: BERTH_SEED={seed} PROPTEST_CASES={cases} repeats this test");
    Config {
        cases,
        // The limit for each case is the same, whatever their number.
        max_global_rejects: cases.saturating_mul(4),
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        ..Config::default()
    }
}
