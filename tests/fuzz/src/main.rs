//! libFuzzer's program for the target that `BERTH_FUZZ_TARGET` names: `ci/fuzz` builds and runs it.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
mod fuzzed {
    use std::sync::LazyLock;

    use berth_fuzz::{Target, check, target};

    static TARGET: LazyLock<Target> = LazyLock::new(|| {
        let name = std::env::var("BERTH_FUZZ_TARGET").unwrap_or_default();
        target(&name).unwrap_or_else(|| panic!("BERTH_FUZZ_TARGET={name} is no target"))
    });

    libfuzzer_sys::fuzz_target!(|text: &str| {
        let _ = check(*TARGET, text);
    });
}

#[cfg(not(fuzzing))]
fn main() -> std::process::ExitCode {
    eprintln!("this berth-fuzz was built without libFuzzer; ci/fuzz builds it with it");
    std::process::ExitCode::from(2)
}
