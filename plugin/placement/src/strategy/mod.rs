//! How a wish becomes CPUs: one strategy for each kind of wish.

pub mod cpuset;
pub mod grid_engine;
mod isolated;
pub mod level;
pub mod list;
pub mod mapping;
mod near;
mod one_kind;
mod share;
pub(crate) mod situation;

use crate::answer::plan::Plan;
use crate::answer::refusal::Refusal;
use crate::request::fixes::Fix;
use crate::request::grid_engine::Strategy;
use crate::request::wish::Wish;
use crate::strategy::situation::Situation;

/// Plans with the strategy for the request's wish; memory is still open.
pub(crate) fn choose(here: &Situation<'_>) -> Result<Plan, Refusal> {
    // It narrows these two.
    let near = here.request.near.as_ref().filter(|near| near.asks());
    match Wish::of(here.request)? {
        Wish::Unbound => here.unbound(),
        Wish::Automatic => by_level(here, level::automatic),
        Wish::Level(level) => by_level(here, |here| level::requested(here, level)),
        Wish::List(mode) => list::choose(here, mode),
        Wish::GridEngine(binding) => match binding.strategy {
            Strategy::Explicit(_) => grid_engine::choose(here, binding),
            _ => isolated::choose(here, |here| grid_engine::choose(here, binding)),
        },
        Wish::Near(near) => near::choose(here, near),
        Wish::Mapped(mapping) => match near {
            Some(_) => mapping::choose(here, mapping, near),
            None => isolated::choose(here, |here| mapping::choose(here, mapping, None)),
        },
        Wish::Share(binding, words) => share::choose(here, (binding, words), near),
    }
}

/// A level, where task/affinity knows neither isolated CPUs nor kinds of cores.
fn by_level(
    here: &Situation<'_>,
    level: impl Fn(&Situation<'_>) -> Result<Plan, Refusal>,
) -> Result<Plan, Refusal> {
    let of_one_kind = |here: &Situation<'_>| match here.has(Fix::OneKind) {
        true => one_kind::choose(here, &level),
        false => level(here),
    };
    match here.has(Fix::IsolatedCpus) {
        true => isolated::choose(here, of_one_kind),
        false => of_one_kind(here),
    }
}
