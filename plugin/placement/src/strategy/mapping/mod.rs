//! A plan by Open MPI's mapping language: each task is mapped to a place, the places are ranked, and
//! each is bound to an object inside it. In: the mapping, the step's CPUs, the machine's objects.
//! Out: a plan, or a refusal. Pure. Source: `rmaps_rr_mappers.c`, `rmaps_ppr.c`,
//! `rmaps_base_binding.c` and `rmaps_base_ranking.c` of PRRTE 5.0.

mod bind;
mod list;
mod map;
mod rank;
mod resolved;
mod share;

use crate::answer::decision::{Mapped, Rule};
use crate::answer::mapping_note::MappingNote;
use crate::answer::mapping_refusal::MappingRefusal;
use crate::answer::note::Note;
use crate::answer::plan::{Plan, TaskPlan};
use crate::answer::refusal::Refusal;
use crate::owned::{Owned, Reserved};
use crate::request::Request;
use crate::request::mapping::{Mapping, Target};
use crate::request::near::Near;
use crate::sets::bounded::repeated;
use crate::sets::cpuset::CpuSet;
use crate::strategy::mapping::resolved::Resolved;
use crate::strategy::mapping::share::Share;
use crate::strategy::near::{Need, narrow};
use crate::strategy::situation::Situation;

/// One task's place: the object that it is mapped to, by the order of objects, and its CPUs.
struct Place {
    object: usize,
    /// `None` if it stays unbound.
    cpus: Option<CpuSet>,
}

/// Places, ranks and binds the tasks; beside a `--near` among the cores next to each task's devices.
pub(crate) fn choose(
    here: &Situation<'_>,
    mapping: &Mapping,
    near: Option<&Near>,
) -> Result<Plan, Refusal> {
    let Some(near) = near else {
        return among(here, mapping).or_else(|why| match lacks_reserved(here, mapping) {
            true => Ok(here.too_many_reserved()),
            false => Err(why),
        });
    };
    // A mapping has its own words for the CPUs of each task.
    let need = Need {
        threads_per_core: here.threads_per_core(),
        each: 1,
    };
    narrow(here, near, need, |inside| Ok(among(inside, mapping)?))
}

/// Whether the tasks would fit if the site kept none of the step's CPUs free. A list names its CPUs, and
/// is never answered with others.
fn lacks_reserved(here: &Situation<'_>, mapping: &Mapping) -> bool {
    if here.owned.reserved != Reserved::Some || matches!(mapping.target(), Target::List { .. }) {
        return false;
    }
    let request = Request {
        reserved: CpuSet::new(),
        ..here.request.clone()
    };
    let owned = Owned::of(&request, here.node);
    let with_all = Situation {
        request: &request,
        owned: &owned,
        ..*here
    };
    among(&with_all, mapping).is_ok()
}

/// The same among all cores of the step.
fn among(here: &Situation<'_>, mapping: &Mapping) -> Result<Plan, Refusal> {
    here.owns_any()?;
    let refused = |why| Refusal::mapping(mapping, why);
    let Some(places) = here.node.places() else {
        return Err(refused(MappingRefusal::NoTree));
    };
    let asked = Resolved::of(mapping, here.request.tasks);
    let share = Share::of(here, places, asked.threads);
    let asked = asked.checked(&share).map_err(refused)?;
    let places = match &asked.target {
        Target::List { list, ordered } => list::places(&asked, &share, (list, *ordered)),
        _ => map::places(&asked, &share),
    };
    let places = rank::ranked(places.map_err(refused)?, asked.rank);
    Ok(planned(here, (mapping, &asked), places))
}

fn planned(
    here: &Situation<'_>,
    (mapping, asked): (&Mapping, &Resolved),
    places: Vec<Place>,
) -> Plan {
    let rule = Rule::Mapped(Mapped {
        asked: mapping.clone(),
        target: asked.target.clone(),
        each: asked.each,
        threads: asked.threads,
        rank: asked.rank,
        bind: asked.bind,
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
    plan.notes = notes(here, (mapping, asked), &plan, unbound);
    plan
}

fn notes(
    here: &Situation<'_>,
    (mapping, asked): (&Mapping, &Resolved),
    plan: &Plan,
    unbound: u32,
) -> Vec<Note> {
    let tasks = here.request.tasks;
    let less = match asked.too_many_for {
        Some(own) => Some(MappingNote::Unbound {
            tasks,
            own,
            threads: asked.threads,
        }),
        None => {
            let some = asked.bind.is_some() && unbound > 0;
            some.then_some(MappingNote::SomeUnbound { tasks, unbound })
        }
    };
    let note = |less| Note::Mapping {
        asked: repeated(mapping),
        less,
    };
    let all = less.into_iter().chain(short(here, plan));
    all.map(note).collect()
}

/// The first of the tasks with the fewest CPUs, if it has less than `-c`.
fn short(here: &Situation<'_>, plan: &Plan) -> Option<MappingNote> {
    let counts = plan.tasks.iter().map(|task| task.cpus.count() as u32);
    let (given, task) = counts.zip(0..).min()?;
    let wanted = here.request.cpus_per_task;
    (plan.is_bound() && given < wanted).then_some(MappingNote::Short {
        task,
        wanted,
        given,
    })
}
