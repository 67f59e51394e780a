//! The options of `berth plan` that no command of Slurm has: `--reserved`, `--score`, `--machine`, …

use std::sync::OnceLock;

use berth_srun::options::{Command as Program, Found, long};
use clap::{Args, Command};

use super::PlanArgs;

/// Whether an option is one of them, by its long name.
pub fn is_plans_own(name: &str) -> bool {
    static OWN: OnceLock<Vec<String>> = OnceLock::new();
    let own = OWN.get_or_init(|| {
        let command = PlanArgs::augment_args(Command::new("plan"));
        let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
        let names = shown.filter_map(clap::Arg::get_long_and_visible_aliases);
        let aliases = command
            .get_arguments()
            .filter_map(clap::Arg::get_all_aliases);
        let names = names.chain(aliases).flatten().map(String::from);
        let is_slurms = |name: &String| long(Program::Srun, None, name) != Found::Unknown;
        names.filter(|name| !is_slurms(name)).collect()
    });
    own.iter().any(|known| known == name)
}
