//! The routes of berth's own options from the submitting command: the launch request or the batch
//! script's environment to slurmd, and Slurm's call to slurmstepd.
//! Source of the routes: `slurm_spank_*` options in job_options.h.

use std::ffi::CStr;

use slurm_sys::views::SpankOption;

use crate::site::standing::NAME;
use crate::step::cpuset_size::{OPTION as SIZE, Size};
use crate::step::options::{Own, Texts};

/// Informs slurmd that a step was started with `--overlap`, which no record of Slurm shows.
pub(crate) const OVERLAP: &CStr = c"berth-overlap";

/// The options in a launch request. They are there whatever `--export` says.
/// If one is there several times, the last counts.
pub(crate) fn of_step(options: &[SpankOption]) -> Texts {
    Texts::find(|own| {
        let ours = |option: &&SpankOption| own.names().contains(&option.option.as_str());
        options.iter().rev().find(ours)?.argument.clone()
    })
}

/// Whether srun had `--overlap`: its berth then gives the option of that name.
pub(crate) fn overlaps(options: &[SpankOption]) -> bool {
    let is_it = |option: &SpankOption| option.option.as_bytes() == OVERLAP.to_bytes();
    options.iter().any(is_it)
}

/// The word beside a step's `--cpuset`.
pub(crate) fn cpuset_size_of_step(options: &[SpankOption]) -> Size {
    let is_it = |option: &&SpankOption| option.option.as_bytes() == SIZE.to_bytes();
    let found = options.iter().rev().find(is_it);
    Size::of(found.and_then(|option| option.argument.as_deref()))
}

/// An option in a batch script's environment, in either spelling.
pub(crate) fn of_batch(own: Own, env: impl Fn(&str) -> Option<String>) -> Option<String> {
    let mut names = own.names().into_iter().rev();
    names.find_map(|name| in_environment(name, &env))
}

/// The word beside a batch script's `--cpuset`.
pub(crate) fn cpuset_size_of_batch(env: impl Fn(&str) -> Option<String>) -> Size {
    Size::of(in_environment(&SIZE.to_string_lossy(), env).as_deref())
}

fn in_environment(name: &str, env: impl Fn(&str) -> Option<String>) -> Option<String> {
    let name = name.replace('-', "_");
    let plain = format!("_SLURM_SPANK_OPTION_{NAME}_{name}");
    env(&plain).or_else(|| env(&format!("SLURM_SPANK_{plain}")))
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
            option("map-by", "core"),
        ];
        let found = of_step(&options);
        assert_eq!(found.get(Own::Binding), Some("linear:2"));
        assert_eq!(found.get(Own::MapBy), Some("core"));
        assert_eq!(of_step(&options[..1]), Texts::default());

        let only = |known: &'static str| move |name: &str| (name == known).then(|| "x".to_string());
        for known in [
            "_SLURM_SPANK_OPTION_berth_binding",
            "SLURM_SPANK__SLURM_SPANK_OPTION_berth_binding",
            "_SLURM_SPANK_OPTION_berth_berth_binding",
        ] {
            let found = of_batch(Own::Binding, only(known));
            assert_eq!(found.as_deref(), Some("x"), "{known}");
        }
        assert_eq!(of_batch(Own::Binding, |_| None), None);
        let map = of_batch(Own::MapBy, only("_SLURM_SPANK_OPTION_berth_map_by"));
        assert_eq!(map.as_deref(), Some("x"));
    }
}
