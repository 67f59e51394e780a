//! No task gets CPUs that the kernel isolates, unless an option names them or the tasks need them.
//! In: the situation, a strategy. Out: the strategy's plan without them, or with them and a note. Pure.

use crate::answer::decision::Rule;
use crate::answer::note::Note;
use crate::answer::plan::Plan;
use crate::answer::refusal::Refusal;
use crate::answer::reserved_note::ReservedNote;
use crate::owned::Owned;
use crate::request::Request;
use crate::sets::cpuset::CpuSet;
use crate::strategy::situation::Situation;

/// A plan without isolated CPUs where that gives the tasks no less; otherwise with them and, if a task
/// has some, with a note.
pub(super) fn choose(
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
    let isolated = here.node.machine()?.isolated();
    if isolated.is_empty() {
        return None;
    }
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
