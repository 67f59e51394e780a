//! The note on a `--cpu-bind` beside options of berth's own: a typed level gives way to them, and `none` overrides
//! those of the request itself.
//! In: a request. Out: the note.

use berth_placement::request::cpu_bind::Mode;
use berth_placement::request::grid_engine::Strategy;
use berth_placement::{CpuBind, Level};
use berth_srun::options::Own;
use berth_srun::reading::LevelFrom;

use crate::question::Question;
use crate::srun_options;

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
    let bind = srun_options::cpu_bind(args);
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
