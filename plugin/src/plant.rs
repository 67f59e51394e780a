//! Panics planted for the tests of the guards: the file `panic` in the state
//! directory names the hook. Compiled only with the feature `plant-panics`.

use crate::settings;

/// Panics if this hook is the one named.
#[allow(clippy::panic, reason = "that is its purpose")]
pub(crate) fn panic_if_planted(hook: &str) {
    let file = settings::current().state_dir.join("panic");
    let named = std::fs::read_to_string(file).unwrap_or_default();
    if named.trim() == hook {
        panic!("planted in {hook} (BERTH_PLANTED_PANIC)");
    }
}
