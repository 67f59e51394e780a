//! The SPANK option `--binding` (also `--berth-binding`): registered in srun,
//! sbatch, salloc and slurmstepd, checked in the submitting command, found again
//! in slurmd. Source of the routes: `slurm_spank_*` options in job_options.h.

use std::ffi::{CStr, c_char, c_int};
use std::sync::{Mutex, PoisonError};

use berth_placement::Binding;
use slurm_spank::spank_sys;
use slurm_sys::views::SpankOption;

use crate::guard::guard;
use crate::identity::NAME;

/// The short name another plugin may own, and the one that is ours for sure.
const NAMES: [&CStr; 2] = [c"binding", c"berth-binding"];
const ARGUMENT: &CStr = c"[set:|env:|pe:][task:|host:][strict:]STRATEGY";
const USAGE: &CStr = c"bind each task to cores of its own: linear:AMOUNT[:SOCKET,CORE], striding:AMOUNT:STEP[:SOCKET,CORE], explicit:SOCKET,CORE[:...] or none (berth; Grid Engine's -binding)";

/// What slurmstepd was told; only to say so where nobody honours it.
static TOLD: Mutex<Option<String>> = Mutex::new(None);

/// Registers both names.
///
/// # Safety
/// `spank` is the handle that Slurm passed to `slurm_spank_init`.
pub(crate) unsafe fn register(spank: spank_sys::spank_t) {
    for name in NAMES {
        let mut option = spank_sys::spank_option {
            name: name.as_ptr(),
            arginfo: ARGUMENT.as_ptr(),
            usage: USAGE.as_ptr(),
            has_arg: 1,
            val: 0,
            cb: Some(take),
        };
        // SAFETY: Slurm copies the option; its texts are static.
        let code = unsafe { spank_sys::spank_option_register(spank, &raw mut option) };
        if code != spank_sys::ESPANK_SUCCESS {
            log::debug!("option --{} was not registered", name.to_string_lossy());
        }
    }
}

/// Slurm calls it with what the user typed: before anything is queued in the
/// submitting command, and in slurmstepd again.
unsafe extern "C" fn take(_val: c_int, argument: *const c_char, remote: c_int) -> c_int {
    guard("option", || {
        if argument.is_null() {
            return 0;
        }
        // SAFETY: Slurm passes a C string that lives during the call.
        let text = unsafe { CStr::from_ptr(argument) }
            .to_string_lossy()
            .into_owned();
        if remote != 0 {
            *TOLD.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
            return 0;
        }
        match check(&text) {
            Ok(()) => 0,
            Err(why) => {
                why.lines().for_each(|line| log::error!("{line}"));
                -1
            }
        }
    })
}

fn check(text: &str) -> Result<(), String> {
    let _: Binding = text.parse().map_err(|why| format!("{why}"))?;
    Ok(())
}

/// The option slurmstepd was told, once.
pub(crate) fn told() -> Option<String> {
    TOLD.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// The option in a launch request: the typed route, there whatever `--export` says.
/// Of several the last counts.
pub(crate) fn of_step(options: &[SpankOption]) -> Option<String> {
    let ours = |option: &&SpankOption| {
        let name = |known: &&CStr| known.to_bytes() == option.option.as_bytes();
        option.plugin == NAME && NAMES.iter().any(name)
    };
    options.iter().rev().find(ours)?.argument.clone()
}

/// The option in a batch script's environment, in either spelling.
pub(crate) fn of_batch(env: impl Fn(&str) -> Option<String>) -> Option<String> {
    NAMES.iter().rev().find_map(|name| {
        let name = name.to_string_lossy().replace('-', "_");
        let plain = format!("_SLURM_SPANK_OPTION_{NAME}_{name}");
        env(&plain).or_else(|| env(&format!("SLURM_SPANK_{plain}")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn found_on_every_route() {
        let option = |plugin: &str, option: &str, argument: &str| SpankOption {
            plugin: plugin.into(),
            option: option.into(),
            argument: Some(argument.into()),
        };
        let options = [
            option("other", "binding", "linear:9"),
            option("berth", "binding", "linear:1"),
            option("berth", "berth-binding", "linear:2"),
        ];
        assert_eq!(of_step(&options).as_deref(), Some("linear:2"));
        assert_eq!(of_step(&options[..1]), None);

        let only = |known: &'static str| move |name: &str| (name == known).then(|| "x".to_string());
        for known in [
            "_SLURM_SPANK_OPTION_berth_binding",
            "SLURM_SPANK__SLURM_SPANK_OPTION_berth_binding",
            "_SLURM_SPANK_OPTION_berth_berth_binding",
        ] {
            assert_eq!(of_batch(only(known)).as_deref(), Some("x"), "{known}");
        }
        assert_eq!(of_batch(|_| None), None);
    }
}
