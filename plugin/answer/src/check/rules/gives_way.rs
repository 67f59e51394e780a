//! A `--cpu-bind` beside options of berth's own that choose the CPUs: a level gives way to them, and `none`
//! overrides them.

use berth_placement::request::cpu_bind::Mode;
use berth_placement::request::grid_engine::Strategy;
use berth_placement::request::mapping::MappingTexts;
use berth_placement::{Binding, Level, Mapping, Near};
use berth_srun::reading::LevelFrom;

use crate::check::case::{Case, MAPPING};
use crate::check::finding::Finding;

/// An option that chooses the CPUs.
struct Chooses {
    level: &'static str,
    none: &'static str,
    /// The names of its options.
    options: &'static [&'static str],
    text: String,
}

/// Those that hold for the step, the one that decides first: its own, else those of its job.
fn chosen(case: &Case<'_>) -> Option<Vec<Chooses>> {
    let mut names = MAPPING.iter().chain(&["binding", "near"]);
    let has_own = names.any(|name| case.is_set(name));
    let value = |name: &str| {
        let of_job = || case.job_option(name).flatten().filter(|_| !has_own);
        case.has(name).or_else(of_job)
    };
    let binding = value("binding").and_then(|text| text.parse::<Binding>().ok());
    let binding = binding.filter(|one| one.strategy != Strategy::None);
    let [map, rank, bind] = MAPPING.map(value);
    let mapping = Mapping::read(MappingTexts { map, rank, bind }).ok()?;
    let near = value("near").and_then(|text| text.parse::<Near>().ok());
    let near = near.filter(Near::asks);
    let all = [
        binding.map(|one| Chooses {
            level: "binding-and-level",
            none: "binding-and-none",
            options: &["binding"],
            text: format!("--binding={one}"),
        }),
        mapping.map(|one| Chooses {
            level: "mapping-and-level",
            none: "mapping-and-none",
            options: &MAPPING,
            text: one.to_string(),
        }),
        near.map(|one| Chooses {
            level: "near-and-level",
            none: "near-and-none",
            options: &["near"],
            text: format!("--near={one}"),
        }),
    ];
    Some(all.into_iter().flatten().collect())
}

/// A typed level beside it. `threads` says what `-c` counts beside a `--near` alone.
pub(super) fn level(case: &Case<'_>) -> Option<Finding> {
    case.command.given("cpu-bind")?;
    let asked = case.asked.as_ref().ok()?;
    let level = asked.cpu_bind.level?;
    let is_typed = asked.level_from == Some(LevelFrom::CpuBind) && asked.cpu_bind.mode.is_none();
    let one = chosen(case).filter(|_| is_typed)?.into_iter().next()?;
    if level == Level::Threads && one.options == ["near"] {
        return None;
    }
    let found = format!("{} beside --cpu-bind={}", one.text, case.cpu_bind());
    let option = one.text.split('=').next().unwrap_or_default();
    let why = format!("{option} decides alone, and the level gives way to it");
    Some(case.hint(one.level, found, &why))
}

/// `none` beside one of the command itself. What the job requests is for its other steps too.
pub(super) fn none(case: &Case<'_>) -> Option<Finding> {
    case.command.given("cpu-bind")?;
    let asked = case.asked.as_ref().ok()?;
    if asked.cpu_bind.mode != Some(Mode::Free) {
        return None;
    }
    let is_own = |one: &Chooses| {
        let mut options = one.options.iter();
        options.any(|option| case.command.given(option).is_some())
    };
    let one = chosen(case)?.into_iter().find(is_own)?;
    let found = format!("{} beside --cpu-bind={}", one.text, case.cpu_bind());
    let why = "--cpu-bind=none leaves the tasks unbound, whatever else is requested";
    Some(case.hint(one.none, found, why))
}
