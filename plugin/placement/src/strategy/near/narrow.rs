//! `--near` beside another wish: each group of tasks is planned among the cores next to its devices, as
//! if the step owned nothing else.
//! In: the request, the other wish's strategy. Out: one plan for all tasks, or why there is none. Pure.

use crate::answer::cores::{Chosen, ChosenCore};
use crate::answer::decision::Rule;
use crate::answer::note::Note;
use crate::answer::plan::{Plan, TaskPlan};
use crate::answer::refusal::Refusal;
use crate::request::Request;
use crate::request::near::Near;
use crate::sets::cpuset::CpuSet;
use crate::strategy::near::hand_out::{Part, by_group, by_need};
use crate::strategy::near::neighbours::{Neighbours, failed};
use crate::strategy::near::places::Places;
use crate::strategy::situation::Situation;

/// Why the other wish cannot be served among some cores.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The step is refused.
    Refused(Refusal),
    /// The step is refused, because the cores are too few.
    TooSmall(Refusal),
    /// The cores are too few, with the reason: the step is refused or runs unbound.
    NotServed(String),
}

/// `--binding=auto` or a mapping beside `--near` needs this many threads and CPUs of the cores.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Need {
    /// The most hardware threads of a core to use.
    pub(crate) threads_per_core: Option<u32>,
    /// Hardware threads of each task, where cores are divided evenly.
    pub(crate) each: u32,
    /// The least that each task needs, for the second try, when even parts fail.
    pub(crate) at_last: Amount,
    /// A task with fewer hardware threads gets a note; `None` if the other wish adds its own notes.
    pub(crate) least: Option<u32>,
}

/// How much each task needs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Amount {
    /// Cores, however many of their hardware threads are used.
    Cores(u32),
    /// Hardware threads.
    Threads(u32),
}

impl Amount {
    /// The hardware threads of these cores.
    fn threads(self, places: &Places) -> u32 {
        match self {
            Self::Cores(count) => count.saturating_mul(places.cores.widest()),
            Self::Threads(count) => count,
        }
    }
}

/// Another strategy's plan, made among the cores next to each task's devices alone. A group that needs
/// more than is next to its devices takes part in what is next nearest. The strategy also sees all tasks
/// on all usable cores.
pub(crate) fn narrow(
    here: &Situation<'_>,
    near: &Near,
    need: Need,
    strategy: impl Fn(&Situation<'_>, &Situation<'_>) -> Result<Plan, Failure>,
) -> Result<Plan, Refusal> {
    here.owns_any()?;
    let found = match Neighbours::of(here, near, need.threads_per_core) {
        Ok(found) => found,
        Err(why) => return failed(here, near, why),
    };
    if found.places.cores.is_empty() {
        return strategy(here, here).or_else(|why| not_served(here, near, why));
    }
    let places = &found.places;
    let owned = here
        .owned
        .within(&here.node.table().cpus_of(places.cores.pus()), here.node);
    let all = Situation {
        owned: &owned,
        ..*here
    };
    let strategy = |group: &Situation<'_>| strategy(group, &all);
    let planned = |parts: &[Part<'_>]| joined(here, near, places, parts, strategy);
    let plan = planned(&by_group(places, need.each)).or_else(|why| {
        // The CPUs may suffice if they are divided unevenly.
        let wider = || planned(&by_need(places, need.at_last.threads(places))).ok();
        let is_small = !matches!(why, Failure::Refused(_));
        is_small.then(wider).flatten().ok_or(why)
    });
    match plan {
        Ok(plan) => found.finish(here, near, plan, need.least),
        Err(why) => not_served(here, near, why),
    }
}

/// The step is refused or runs unbound.
fn not_served(here: &Situation<'_>, near: &Near, why: Failure) -> Result<Plan, Refusal> {
    let binding = here.request.binding.as_ref();
    let is_strict = near.strict || binding.is_some_and(|binding| binding.strict);
    match why {
        Failure::Refused(why) | Failure::TooSmall(why) => Err(why),
        Failure::NotServed(text) if is_strict => Err(Refusal::BindingFailed(text)),
        Failure::NotServed(text) => here.wish_failed(text),
    }
}

/// The plans of all groups as one.
fn joined(
    here: &Situation<'_>,
    near: &Near,
    places: &Places,
    parts: &[Part<'_>],
    strategy: impl Fn(&Situation<'_>) -> Result<Plan, Failure>,
) -> Result<Plan, Failure> {
    let count = here.request.tasks as usize;
    let mut tasks = vec![TaskPlan::on(CpuSet::new()); count];
    let mut chosen: Vec<&[ChosenCore]> = Vec::new();
    let (mut notes, mut rule) = (Vec::new(), None);
    let plans: Vec<_> = parts
        .iter()
        .map(|part| of_part(here, places, part, &strategy))
        .collect::<Result<_, _>>()?;
    for (part, (plan, own)) in parts.iter().zip(&plans) {
        for (at, (id, task)) in part.tasks.iter().zip(&plan.tasks).enumerate() {
            tasks[*id as usize] = match task.cpus.is_empty() {
                true => TaskPlan::on(own.clone()),
                false => task.clone(),
            };
            if let Some(cores) = &plan.chosen {
                chosen.resize(count, &[]);
                chosen[*id as usize] = cores.of_task(at);
            }
        }
        for note in &plan.notes {
            Note::add(&mut notes, note.clone(), &part.tasks);
        }
        rule = Some(with(rule, &plan.decision.rule));
    }
    let rule = rule.unwrap_or(Rule::NoMatch);
    let mut plan = here.each(tasks, Rule::Narrowed(near.clone(), Box::new(rule)));
    plan.notes = notes;
    plan.chosen = (!chosen.is_empty())
        .then(|| Chosen::new(chosen.into_iter().map(|cores| cores.iter().cloned())));
    Ok(plan)
}

/// The plan of one group, and the CPUs that it was made among.
fn of_part(
    here: &Situation<'_>,
    places: &Places,
    part: &Part<'_>,
    strategy: impl Fn(&Situation<'_>) -> Result<Plan, Failure>,
) -> Result<(Plan, CpuSet), Failure> {
    let runs = part.cores.iter();
    let pus = runs.flat_map(|run| places.cores.of(run.clone()).iter().copied());
    let owned = here.owned.within(&here.node.table().cpus(pus), here.node);
    let request = Request {
        tasks: part.tasks.len() as u32,
        near: None,
        ..here.request.clone()
    };
    let plan = strategy(&Situation {
        request: &request,
        owned: &owned,
        ..*here
    })?;
    Ok((plan, owned.cpus))
}

/// The rule of several groups: an even share counts the cores of all.
fn with(before: Option<Rule>, rule: &Rule) -> Rule {
    match (before, rule) {
        (Some(Rule::Share(binding, all)), Rule::Share(_, own)) => {
            Rule::Share(binding, all.with(*own))
        }
        (Some(before), _) => before,
        (None, rule) => rule.clone(),
    }
}
