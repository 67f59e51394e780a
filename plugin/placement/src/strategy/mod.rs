//! How a wish becomes CPUs: one strategy for each kind of wish.

pub mod grid_engine;
pub mod level;
pub mod list;
pub mod mapping;
mod near;
mod share;
pub(crate) mod situation;

use crate::answer::plan::Plan;
use crate::answer::refusal::Refusal;
use crate::request::wish::Wish;
use crate::strategy::situation::Situation;

/// Plans with the strategy for the request's wish; memory is still open.
pub(crate) fn choose(here: &Situation<'_>) -> Result<Plan, Refusal> {
    // It narrows these two.
    let near = here.request.near.as_ref().filter(|near| near.asks());
    match Wish::of(here.request)? {
        Wish::Unbound => here.unbound(),
        Wish::Automatic => level::automatic(here),
        Wish::Level(level) => level::asked(here, level),
        Wish::List(mode) => list::choose(here, mode),
        Wish::GridEngine(binding) => grid_engine::choose(here, binding),
        Wish::Near(near) => near::choose(here, near),
        Wish::Mapped(mapping) => mapping::choose(here, mapping, near),
        Wish::Share(binding, words) => share::choose(here, (binding, words), near),
    }
}
