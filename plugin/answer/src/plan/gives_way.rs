//! The note on a `--cpu-bind` beside options of berth's own: a typed level gives way to them, and `none` overrides
//! those of the request itself.
//! In: a request. Out: the note.

use berth_placement::request::cpu_bind::Mode;
use berth_placement::request::grid_engine::Strategy;
use berth_placement::{CpuBind, Level};
use berth_srun::reading::LevelFrom;
use berth_srun::submission::by_default::{BIND_TO, BINDING, MAP_BY, NEAR, RANK_BY};

use crate::question::Question;
use crate::srun_options;

/// The note, if there is one.
pub(super) fn note(args: &Question) -> Option<String> {
    let bind = srun_options::cpu_bind(args);
    match bind.mode {
        Some(Mode::Free) => overridden(args, &bind),
        _ => level(args, &bind),
    }
}

/// What chooses the CPUs, as it is typed, with the names of its options.
fn chosen(args: &Question, bind: &CpuBind) -> Vec<(Vec<&'static str>, String)> {
    let binding = args.asked_binding(bind);
    let binding = binding.filter(|binding| binding.strategy != Strategy::None);
    let binding = binding.map(|one| (vec![BINDING.option], format!("--binding={one}")));
    let mapping = args.asked_mapping().map(|one| {
        let options = vec![MAP_BY.option, RANK_BY.option, BIND_TO.option];
        (options, one.to_string())
    });
    let near = args.asked_near();
    let near = near.map(|one| (vec![NEAR.option], format!("--near={one}")));
    binding.into_iter().chain(mapping).chain(near).collect()
}

/// Those of the request itself that `none` overrides. What its job or a variable requests is for other steps too.
fn overridden(args: &Question, bind: &CpuBind) -> Option<String> {
    let is_inherited = |option: &str| args.defaults.iter().any(|one| one.name == option);
    let own = chosen(args, bind);
    let own = own
        .into_iter()
        .filter(|(options, _)| !options.iter().any(|option| is_inherited(option)));
    let own: Vec<_> = own.map(|(_, text)| text).collect();
    let none = match args.srun.cpu_bind.mode {
        Some(Mode::Free) => "--cpu-bind=none",
        _ => "CpuBind=none of the site",
    };
    let give = if own.len() == 1 { "gives" } else { "give" };
    (!own.is_empty()).then(|| {
        let own = own.join(" and ");
        format!(
            "{none} leaves the tasks unbound, and {own} {give} way to it; leave out one of them"
        )
    })
}

/// A typed level. Beside `--near` alone, `threads` still says what `-c` counts.
fn level(args: &Question, bind: &CpuBind) -> Option<String> {
    let (_, chosen) = chosen(args, bind).into_iter().next()?;
    let is_typed = |word: &String| word.starts_with("--cpu-bind") || word.starts_with("--cpu_bind");
    let by_cpu_bind = args.srun.level_from == Some(LevelFrom::CpuBind);
    let level = bind.level.filter(|_| by_cpu_bind)?;
    let counts = level == Level::Threads && chosen.starts_with("--near=");
    (!counts && args.options.words().iter().any(is_typed)).then(|| {
        format!(
            "{chosen} chooses the cores, and --cpu-bind={level} gives way to it; leave out one of them"
        )
    })
}
