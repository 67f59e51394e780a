//! A plan by Open MPI's mapping language: each task is mapped to a place, the places are ranked, and
//! each is bound to an object inside it. In: the mapping, the step's CPUs, the machine's objects.
//! Out: a plan, or a refusal. Pure. Source: `rmaps_rr_mappers.c`, `rmaps_ppr.c`,
//! `rmaps_base_binding.c` and `rmaps_base_ranking.c` of PRRTE 5.0.

mod bind;
mod places;
mod resolved;
mod share;

use crate::answer::decision::{Mapped, Rule};
use crate::answer::mapping::{MappingNote, MappingRefusal};
use crate::answer::note::Note;
use crate::answer::plan::{Plan, TaskPlan};
use crate::answer::refusal::Refusal;
use crate::owned::{Owned, Reserved};
use crate::request::fixes::Fix;
use crate::request::mapping::{Mapping, Target};
use crate::request::near::Near;
use crate::request::{Request, Rules};
use crate::sets::cpuset::CpuSet;
use crate::sets::text::repeated;
use crate::strategy::mapping::places::{Place, from_list, on_objects, ranked};
use crate::strategy::mapping::resolved::Resolved;
use crate::strategy::mapping::share::Share;
use crate::strategy::near::{Amount, Failure, Need, narrow};
use crate::strategy::situation::{Situation, in_cpus};

/// Places, ranks and binds the tasks; beside a `--near` among the cores next to each task's devices.
pub(crate) fn choose(
    here: &Situation<'_>,
    mapping: &Mapping,
    near: Option<&Near>,
) -> Result<Plan, Refusal> {
    let is_strict = near.is_some_and(|near| near.strict);
    mapped(here, mapping, near).or_else(|why| {
        match !is_strict && lacks_reserved(here, mapping, near) {
            true => Ok(here.too_many_reserved()),
            false => Err(why),
        }
    })
}

/// Places, ranks and binds the tasks. It does not ask whether they only lack CPUs that are kept free.
fn mapped(here: &Situation<'_>, mapping: &Mapping, near: Option<&Near>) -> Result<Plan, Refusal> {
    let Some(near) = near else {
        here.owns_any()?;
        return among((here, here), mapping).map_err(|why| Refusal::mapping(mapping, None, why));
    };
    // A mapping has its own words for the CPUs of each task.
    let cpus = mapping.each().unwrap_or(1);
    let need = Need {
        threads_per_core: here.threads_of_bound_core(),
        each: 1,
        at_last: match mapping.takes_threads() {
            true => Amount::Threads(cpus),
            false => Amount::Cores(cpus),
        },
        least: None,
    };
    narrow(here, near, need, |group, all| {
        among((group, all), mapping).map_err(|why| {
            let is_small = matches!(why, MappingRefusal::TooMany { .. });
            let why = Refusal::mapping(mapping, Some(near), why);
            match is_small {
                true => Failure::TooSmall(why),
                false => Failure::Refused(why),
            }
        })
    })
}

/// Whether the tasks would fit if none of the step's CPUs were kept free. A list names its CPUs, and
/// is never answered with others.
fn lacks_reserved(here: &Situation<'_>, mapping: &Mapping, near: Option<&Near>) -> bool {
    if here.owned.reserved != Reserved::Some || matches!(mapping.target(), Target::List { .. }) {
        return false;
    }
    let request = Request {
        reserved: CpuSet::new(),
        ..here.request.clone()
    };
    // Without this fix no CPU counts as held by other software.
    let rules = here.node.rules();
    let node = here.node.with_rules(Rules {
        fixes: rules.fixes.with(Fix::IsolatedCpus, false),
        ..rules
    });
    let owned = Owned::of(&request, &node);
    let with_all = Situation {
        request: &request,
        node: &node,
        owned: &owned,
        ..*here
    };
    mapped(&with_all, mapping, near).is_ok()
}

/// Places, ranks and binds a group of the step's tasks on cores of its own; what the options leave open is decided for
/// all tasks and cores.
fn among(
    (here, all): (&Situation<'_>, &Situation<'_>),
    mapping: &Mapping,
) -> Result<Plan, MappingRefusal> {
    let Some(places) = here.node.places() else {
        return Err(MappingRefusal::NoTree);
    };
    let requested = Resolved::of(mapping, all.request.tasks);
    let whole = Share::of(all, places, requested.threads);
    let requested = requested.checked(&whole)?.of_group(here.request.tasks);
    let part = (!std::ptr::eq(here, all)).then(|| Share::of(here, places, requested.threads));
    let share = part.as_ref().unwrap_or(&whole);
    let places = match &requested.target {
        Target::List { list, ordered } => from_list(&requested, share, (list, *ordered)),
        _ => on_objects(&requested, share),
    };
    let places = ranked(places?, requested.rank);
    Ok(planned(here, (mapping, &requested), places))
}

fn planned(
    here: &Situation<'_>,
    (mapping, requested): (&Mapping, &Resolved),
    places: Vec<Place>,
) -> Plan {
    let rule = Rule::Mapped(Mapped {
        requested: mapping.clone(),
        target: requested.target.clone(),
        each: requested.each,
        threads: requested.threads,
        rank: requested.rank,
        bind: requested.bind,
    });
    let unbound = places.iter().filter(|place| place.cpus.is_none()).count() as u32;
    let mut plan = if unbound as usize == places.len() {
        here.unbound_by(rule)
    } else {
        let shared = here.shared();
        let cpus = |place: Place| place.cpus.unwrap_or_else(|| shared.clone());
        let tasks = places.into_iter().map(cpus).map(TaskPlan::on);
        here.each(tasks.collect(), rule)
    };
    plan.notes = notes(here, (mapping, requested), &plan, unbound);
    plan
}

fn notes(
    here: &Situation<'_>,
    (mapping, requested): (&Mapping, &Resolved),
    plan: &Plan,
    unbound: u32,
) -> Vec<Note> {
    let tasks = requested.on_node;
    let less = match requested.too_many_for {
        Some(own) => Some(MappingNote::Unbound {
            tasks,
            own,
            threads: requested.threads,
        }),
        None => {
            let some = requested.bind.is_some() && unbound > 0;
            some.then_some(MappingNote::SomeUnbound { tasks, unbound })
        }
    };
    let note = |less| Note::Mapping {
        requested: repeated(mapping),
        less,
    };
    let all = less.into_iter().chain(short(here, plan));
    all.map(note).collect()
}

/// The first of the tasks with the fewest CPUs, if it has less than `-c`.
fn short(here: &Situation<'_>, plan: &Plan) -> Option<MappingNote> {
    let counts = plan.tasks.iter().map(|task| task.cpus.count() as u32);
    let (given, task) = counts.zip(0..).min()?;
    let needed = here.threads_each(here.threads_of_bound_core());
    let wanted = here.request.cpus_per_task;
    (plan.is_bound() && given < needed).then_some(MappingNote::Short {
        task,
        wanted,
        given: in_cpus(given, (wanted, needed)),
    })
}
