//! Panics planted for the tests of the guards: the file that the environment
//! variable names holds the hook's name. Only a debug build has this.

/// The variable that names the file. A test also looks for this word in a release build.
const VARIABLE: &str = "BERTH_PLANTED_PANIC";

/// Panics if the file names this hook.
#[allow(clippy::panic, reason = "that is its purpose")]
pub(crate) fn panic_if_planted(hook: &str) {
    let Some(file) = std::env::var_os(VARIABLE) else {
        return;
    };
    let named = std::fs::read(file).unwrap_or_default();
    if named.trim_ascii() == hook.as_bytes() {
        panic!("planted in {hook}");
    }
}
