//! Notes name the options that a plan passes over: those of other plugins, and those by which slurmctld may choose
//! other nodes.

use berth_srun::line::LineOption;
use berth_srun::reading::selection::chooses_nodes;

use super::controller::uses_controller;
use crate::question::Question;
use crate::text;

/// One note for all of a request and of the job around it, and one if their plugin binds tasks.
pub(super) fn notes(args: &Question) -> Vec<String> {
    let job = args.job_line().and_then(Result::ok);
    let of_job = job.into_iter().flat_map(|job| job.foreign.clone());
    let mut all = args.request.foreign.clone();
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
    let binds = all.iter().filter_map(|one| one.foreign);
    notes.extend(binds.filter(|row| row.binds_tasks()).map(|row| {
        format!(
            "the plugin {} binds tasks itself; where a site has it, tasks may get other CPUs than here",
            row.plugin
        )
    }));
    notes
}

/// Slurm's own options that say which nodes a job may have: those of a plan are assumed.
pub(super) fn of_nodes(args: &Question) -> Option<String> {
    let job = args.job_line().and_then(Result::ok);
    let of_job = job.iter().flat_map(|job| &job.options);
    let own = args.srun.options().iter().filter(|kept| !kept.is_jobs);
    let all = of_job
        .chain(own)
        .filter(|_| args.only_job || uses_controller(args));
    let all =
        all.filter(|kept| chooses_nodes(&kept.name, kept.value.as_deref().unwrap_or_default()));
    let mut names: Vec<_> = all.map(|kept| format!("--{}", kept.name)).collect();
    names.sort_unstable();
    names.dedup();
    let what = if names.contains(&"--gres".into()) {
        "nodes or cores"
    } else {
        "nodes"
    };
    let note = format!(
        "{}: this plan does not look at what the nodes have; slurmctld may choose other {what}",
        names.join(", ")
    );
    (!names.is_empty()).then_some(note)
}

fn named(option: &LineOption, name: &str) -> String {
    match option.foreign {
        Some(_) => format!("{name} is not Slurm's own option but another plugin's"),
        None => format!("{name} is taken for another plugin's option"),
    }
}

/// `--container-image (Pyxis)`, or `--foo with the value "bar"`.
fn shown(option: &LineOption) -> String {
    let name = text::short(&option.name);
    match (option.foreign, &option.value) {
        (Some(row), _) => format!("--{name} ({})", row.plugin),
        (None, Some(value)) => format!("--{name} with the value \"{}\"", text::short(value)),
        (None, None) => format!("--{name}"),
    }
}
