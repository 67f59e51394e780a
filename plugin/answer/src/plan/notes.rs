//! Notes on options that change nothing in a plan: those of others, and those that give way to another one.

use berth_placement::request::cpu_bind::Mode;
use berth_placement::request::grid_engine::Strategy;
use berth_placement::{CpuBind, Level};
use berth_srun::reading::LevelFrom;
use berth_srun::reading::selection::chooses_nodes;
use berth_srun::{LineOption, Own};

use super::controller::uses_controller;
use crate::{Question, text};

/// One note for all of a request and of the job around it, and one if their plugin binds tasks.
pub(super) fn notes(args: &Question) -> Vec<String> {
    let of_job = args.job().into_iter().flat_map(|job| &job.foreign);
    let all: Vec<_> = args.request.foreign.iter().chain(of_job).collect();
    let Some(first) = all.first() else {
        return Vec::new();
    };
    let names: Vec<_> = all.iter().map(|one| shown(one)).collect();
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
    let of_job = args.job().into_iter().flat_map(|job| &job.options);
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

/// An option that gives way to another one.
pub struct GivesWay {
    /// The first option of berth's own among the two.
    pub option: &'static str,
    /// Whether it gives way to `--cpu-bind=none`; otherwise a level gives way to it.
    pub is_overridden: bool,
    /// The note to the user.
    pub note: String,
}

/// The two options, if there are such.
pub fn gives_way(args: &Question) -> Option<GivesWay> {
    let bind = super::wishes::cpu_bind(args);
    match bind.mode {
        Some(Mode::Free) => overridden(args, &bind),
        _ => level(args, &bind),
    }
}

/// An option that chooses the CPUs.
struct Chooses {
    options: &'static [Own],
    /// As it is typed.
    text: String,
}

/// What chooses the CPUs; what decides stands first.
fn chosen(args: &Question, bind: &CpuBind) -> impl Iterator<Item = Chooses> {
    let binding = args.effective_binding(bind);
    let binding = binding.filter(|binding| binding.strategy != Strategy::None);
    let binding = binding.map(|one| Chooses {
        options: &[Own::Binding],
        text: format!("--binding={one}"),
    });
    let mapping = args.effective_mapping().map(|one| Chooses {
        options: &[Own::MapBy, Own::RankBy, Own::BindTo],
        text: one.to_string(),
    });
    let near = args.effective_near().map(|one| Chooses {
        options: &[Own::Near],
        text: format!("--near={one}"),
    });
    binding.into_iter().chain(mapping).chain(near)
}

/// Those of the request itself that `none` overrides. What its job or a variable requests is for other steps too.
fn overridden(args: &Question, bind: &CpuBind) -> Option<GivesWay> {
    let is_inherited = |option: &Own| args.defaults.iter().any(|one| one.own == *option);
    let own = chosen(args, bind).filter(|one| !one.options.iter().any(is_inherited));
    let own: Vec<_> = own.collect();
    let none = match args.srun.cpu_bind.mode {
        Some(Mode::Free) => "--cpu-bind=none",
        _ => "CpuBind=none of the site",
    };
    let give = if own.len() == 1 { "gives" } else { "give" };
    let texts: Vec<_> = own.iter().map(|one| one.text.as_str()).collect();
    let texts = texts.join(" and ");
    Some(GivesWay {
        option: own.first()?.options[0].name,
        is_overridden: true,
        note: format!(
            "{none} leaves the tasks unbound, and {texts} {give} way to it; leave out one of them"
        ),
    })
}

/// A typed level. Beside `--near` alone, `threads` still says what `-c` counts.
fn level(args: &Question, bind: &CpuBind) -> Option<GivesWay> {
    let Chooses { options, text } = chosen(args, bind).next()?;
    let by_cpu_bind = args.srun.level_from == Some(LevelFrom::CpuBind);
    let level = bind.level.filter(|_| by_cpu_bind)?;
    let mut kept = args.srun.options().iter();
    let is_typed = kept.any(|one| one.name == "cpu-bind" && one.variable.is_none());
    let counts = level == Level::Threads && options == [Own::Near];
    (!counts && is_typed).then(|| GivesWay {
        option: options[0].name,
        is_overridden: false,
        note: format!(
            "{text} chooses the cores, and --cpu-bind={level} gives way to it; leave out one of them"
        ),
    })
}
