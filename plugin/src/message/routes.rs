//! The routes of the SPANK option `--binding` (also `--berth-binding`) from the submitting command:
//! the launch request or the batch script's environment to slurmd, and Slurm's call to slurmstepd.
//! Source of the routes: `slurm_spank_*` options in job_options.h.

use std::ffi::CStr;

use slurm_sys::views::SpankOption;

use crate::site::standing::NAME;

/// The short name, which another plugin may own, and the name that is surely ours.
pub(crate) const NAMES: [&CStr; 2] = [c"binding", c"berth-binding"];
/// Informs slurmd that a step was started with `--overlap`, which no record of Slurm shows.
pub(crate) const OVERLAP: &CStr = c"berth-overlap";

/// The option in a launch request. It is there whatever `--export` says.
/// If there are several, the last counts.
pub(crate) fn of_step(options: &[SpankOption]) -> Option<String> {
    let ours = |option: &&SpankOption| {
        let name = |known: &&CStr| known.to_bytes() == option.option.as_bytes();
        NAMES.iter().any(name)
    };
    options.iter().rev().find(ours)?.argument.clone()
}

/// Whether srun had `--overlap`: its berth then gives the option of that name.
pub(crate) fn overlaps(options: &[SpankOption]) -> bool {
    let is_it = |option: &SpankOption| option.option.as_bytes() == OVERLAP.to_bytes();
    options.iter().any(is_it)
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
        let option = |option: &str, argument: &str| SpankOption {
            option: option.into(),
            argument: Some(argument.into()),
        };
        let options = [
            option("berth-overlap", "1"),
            option("binding", "linear:1"),
            option("berth-binding", "linear:2"),
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
