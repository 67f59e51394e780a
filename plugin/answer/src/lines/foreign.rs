//! Options on a line that are none of Slurm's: those of other SPANK plugins, and those that no table
//! has. They change nothing in a plan.

use berth_srun::Release;
use berth_srun::line::{Given, Trouble};
use berth_srun::options::{Command as Program, Found, LONGEST, long, nearest};

use crate::args::{ForeignOption, is_plans_own};

/// Whether an option can only be another plugin's: no command of Slurm's has it, nor one that is
/// spelt nearly so.
pub(crate) fn is_foreign(given: &Given, program: Program, release: Release) -> bool {
    let name = &given.name;
    if given.foreign.is_some() {
        return given.trouble.is_none();
    }
    // Plugins have no letters.
    let is_word = name.chars().count() > 1 && name.len() <= LONGEST;
    given.trouble == Some(Trouble::Unknown)
        && is_word
        && !is_plans_own(name)
        && !is_slurms(name)
        && nearest(name, program, release).is_none()
}

/// Whether any command of any release has it.
fn is_slurms(name: &str) -> bool {
    let all = [Program::Srun, Program::Sbatch, Program::Salloc];
    all.iter()
        .any(|program| long(*program, None, name) != Found::Unknown)
}

/// The option as a request keeps it.
pub(crate) fn kept(given: &Given) -> ForeignOption {
    ForeignOption {
        name: given.name.clone(),
        value: given.value.clone(),
        row: given.foreign,
    }
}
