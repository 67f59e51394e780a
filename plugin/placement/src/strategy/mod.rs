//! How a wish becomes CPUs: one strategy for each kind of wish. No task gets CPUs that the kernel isolates, unless an
//! option names them or the tasks need them. In: the situation. Out: a plan, or a refusal. Pure.

pub mod cpuset;
pub mod grid_engine;
pub mod level;
pub mod list;
pub mod mapping;
mod near;
mod one_kind;
mod share;
pub(crate) mod situation;

use crate::answer::decision::Rule;
use crate::answer::note::{Note, ReservedNote};
use crate::answer::plan::Plan;
use crate::answer::refusal::Refusal;
use crate::owned::Owned;
use crate::request::Request;
use crate::request::fixes::Fix;
use crate::request::grid_engine::Strategy;
use crate::request::wish::Wish;
use crate::sets::cpuset::CpuSet;
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
            _ => avoid_isolated(here, |here| grid_engine::choose(here, binding)),
        },
        Wish::Near(near) => near::choose(here, near),
        Wish::Mapped(mapping) => match near {
            Some(_) => mapping::choose(here, mapping, near),
            None => avoid_isolated(here, |here| mapping::choose(here, mapping, None)),
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
        true => avoid_isolated(here, of_one_kind),
        false => of_one_kind(here),
    }
}

/// A plan without isolated CPUs where that gives the tasks no less; otherwise with them and, if a task
/// has some, with a note.
fn avoid_isolated(
    here: &Situation<'_>,
    strategy: impl Fn(&Situation<'_>) -> Result<Plan, Refusal>,
) -> Result<Plan, Refusal> {
    let Some((isolated, others)) = isolated(here) else {
        return strategy(here);
    };
    let owned = here.owned.within(&others, here.node);
    let tried = (here.request.overcommit || has_room(here, &owned)).then(|| {
        strategy(&Situation {
            owned: &owned,
            ..*here
        })
    });
    let spared = tried.and_then(Result::ok);
    let mut plan = strategy(here)?;
    // Notes that come with all CPUs too say nothing against it, nor does the number of idle objects.
    let told = |plan: &Plan| -> Vec<Note> {
        let notes = plan.notes.iter();
        let told = notes.filter(|note| !matches!(note, Note::ObjectsIdle { .. }));
        told.cloned().collect()
    };
    let is_as_good = |spared: &Plan| told(spared).is_empty() || told(spared) == told(&plan);
    let spared = spared.filter(|spared| is_served(here, spared) && is_as_good(spared));
    if let Some(spared) = spared {
        return Ok(spared);
    }
    let mut used = CpuSet::new();
    plan.tasks
        .iter()
        .for_each(|task| used.insert_all(&task.cpus));
    let used = used.intersection(&isolated);
    if !used.is_empty() {
        plan.notes
            .push(Note::Reserved(ReservedNote::Isolated(used)));
    }
    Ok(plan)
}

/// The step's isolated CPUs, and its others; `None` if it has none of the ones or of the others.
fn isolated(here: &Situation<'_>) -> Option<(CpuSet, CpuSet)> {
    let isolated = here.node.isolated()?;
    let own = &here.owned.cpus;
    let (isolated, others) = (own.intersection(isolated), own.difference(isolated));
    (!isolated.is_empty() && !others.is_empty()).then_some((isolated, others))
}

/// Whether the tasks have as many hardware threads as they request.
fn has_room(here: &Situation<'_>, owned: &Owned) -> bool {
    let limit = here.threads_per_core().unwrap_or(u32::MAX);
    let room = owned.count_within(here.node.table(), limit);
    let Request {
        tasks,
        cpus_per_task,
        ..
    } = here.request;
    u64::from(*tasks) * u64::from(*cpus_per_task) <= u64::from(room)
}

fn is_served(here: &Situation<'_>, plan: &Plan) -> bool {
    match plan.decision.rule {
        Rule::BindingFailed | Rule::CgroupTooSmall | Rule::TooManyReserved => false,
        Rule::Overcommit => here.request.overcommit,
        _ => true,
    }
}
