//! Panics planted for the tests of the guards: the file that the environment
//! variable names holds the hook's name. Compiled only with the feature `plant-panics`.

/// Names the file; also the word by which a test looks for this code in a release build.
const VARIABLE: &str = "BERTH_PLANTED_PANIC";

/// Panics if this hook is the one named.
#[allow(clippy::panic, reason = "that is its purpose")]
pub(crate) fn panic_if_planted(hook: &str) {
    let file = std::env::var_os(VARIABLE).unwrap_or_default();
    let named = std::fs::read_to_string(file).unwrap_or_default();
    if named.trim() == hook {
        panic!("planted in {hook}");
    }
}
