//! Options on a line that are none of Slurm's: those of other SPANK plugins, and those that no table
//! has. They change nothing in a plan, and one note names them.

use berth_srun::Release;
use berth_srun::line::{Given, Trouble};
use berth_srun::options::{Command as Program, Found, long, nearest};

use crate::args::{ForeignOption, is_plans_own};
use crate::question::Question;
use crate::text;

/// Whether an option can only be another plugin's: no command of Slurm's has it, nor one that is
/// spelt nearly so.
pub(super) fn is_foreign(given: &Given, program: Program, release: Release) -> bool {
    let name = &given.name;
    if given.foreign.is_some() {
        return given.trouble.is_none();
    }
    // Plugins have no letters.
    let is_word = name.chars().count() > 1;
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
pub(super) fn kept(given: &Given) -> ForeignOption {
    ForeignOption {
        name: given.name.clone(),
        value: given.value.clone(),
        row: given.foreign,
    }
}

/// One note for all of a request and of the job around it, and one if their plugin binds tasks.
pub(super) fn notes(args: &Question) -> Vec<String> {
    let job = args.job_line().and_then(Result::ok);
    let of_job = job.into_iter().flat_map(|job| job.foreign.clone());
    let mut all = args.foreign.0.clone();
    all.extend(of_job);
    let Some(first) = all.first() else {
        return Vec::new();
    };
    let names: Vec<_> = all.iter().map(shown).collect();
    let mut notes = vec![match all.len() {
        1 => format!("{}, which this plan passes over", named(first, &names[0])),
        _ => format!(
            "these options are not Slurm's own, and this plan passes over them: {}",
            names.join(", ")
        ),
    }];
    let binds = all.iter().filter_map(|one| one.row);
    notes.extend(binds.filter(|row| row.binds_tasks()).map(|row| {
        format!(
            "the plugin {} binds tasks itself; where a site has it, tasks may get other CPUs than here",
            row.plugin
        )
    }));
    notes
}

fn named(option: &ForeignOption, name: &str) -> String {
    match option.row {
        Some(_) => format!("{name} is not Slurm's own option but another plugin's"),
        None => format!("{name} is taken for another plugin's option"),
    }
}

/// `--container-image (Pyxis)`, or `--foo with the value "bar"`.
fn shown(option: &ForeignOption) -> String {
    let name = text::short(&option.name);
    match (option.row, &option.value) {
        (Some(row), _) => format!("--{name} ({})", row.plugin),
        (None, Some(value)) => format!("--{name} with the value \"{}\"", text::short(value)),
        (None, None) => format!("--{name}"),
    }
}
