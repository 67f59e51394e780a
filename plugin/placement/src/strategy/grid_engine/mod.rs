//! A plan by Grid Engine's core binding, which decides alone.
//! In: the binding, the step's whole cores, what others are bound to. Out: a plan, a note,
//! or a refusal. Pure.

pub mod cores;
pub mod linear;
pub mod sparing;

use crate::answer::cores::{Chosen, ChosenCore};
use crate::answer::decision::Rule;
use crate::answer::note::Note;
use crate::answer::plan::{Plan, TaskPlan};
use crate::answer::refusal::Refusal;
use crate::request::grid_engine::{Binding, Instance, Place, Scope, Strategy};
use crate::sets::text::{counted, either, repeated};
use crate::strategy::grid_engine::cores::{Core, Cores, Obstacle, State};
use crate::strategy::situation::Situation;

/// The cores that a `--binding` names, or a note that it cannot be served.
pub(crate) fn choose(here: &Situation<'_>, binding: &Binding) -> Result<Plan, Refusal> {
    here.owns_any()?;
    let cores = Cores::of(here.node.table(), here.owned, here.claims);
    let tasks = here.request.tasks;
    match sparing::choose(&cores, |cores| positions(binding, cores, tasks)) {
        Ok(found) => Ok(bound(here, binding, look_up(here, &cores, &found))),
        Err(obstacle) => not_bound(here, binding, &cores, obstacle),
    }
}

fn look_up(here: &Situation<'_>, cores: &Cores, found: &[Vec<usize>]) -> Chosen {
    let limit = here.threads_of_bound_core().unwrap_or(u32::MAX) as usize;
    let table = here.node.table();
    let core = |at: &usize| {
        let core = cores.at(*at)?;
        let pus = here.owned.among(table.cores.members(core.index));
        Some(ChosenCore {
            place: core.place,
            cpus: table.cpus(pus.take(limit)),
        })
    };
    Chosen::new(found.iter().map(|cores| cores.iter().filter_map(core)))
}

fn bound(here: &Situation<'_>, binding: &Binding, chosen: Chosen) -> Plan {
    let rule = Rule::Binding(binding.clone());
    let mut plan = match binding.instance {
        Instance::Set => {
            let count = here.request.tasks as usize;
            let tasks = match chosen.lists().len() {
                1 => vec![TaskPlan::on(chosen.cpus_of_task(0)); count],
                _ => (0..count)
                    .map(|id| TaskPlan::on(chosen.cpus_of_task(id)))
                    .collect(),
            };
            here.each(tasks, rule)
        }
        // The job binds itself to the cores that its environment names.
        Instance::Env | Instance::Pe => here.all_to_all(rule),
    };
    plan.notes.extend(note(here, binding, &chosen));
    plan.chosen = Some(chosen);
    plan
}

/// The note on what a binding gives each task.
fn note(here: &Situation<'_>, binding: &Binding, chosen: &Chosen) -> Option<Note> {
    let (tasks, requested) = (here.request.tasks, here.request.cpus_per_task);
    if matches!(binding.strategy, Strategy::Explicit(_)) {
        let binding = repeated(binding);
        return (tasks > 1).then_some(Note::SharedExplicit { binding, tasks });
    }
    let cpus = (0..chosen.lists().len()).map(|id| chosen.cpus_of_task(id).count() as u32);
    let given = cpus.min().filter(|given| *given < requested)?;
    Some(Note::BindingShort {
        binding: repeated(binding),
        requested,
        given,
    })
}

fn not_bound(
    here: &Situation<'_>,
    binding: &Binding,
    cores: &Cores,
    obstacle: Obstacle,
) -> Result<Plan, Refusal> {
    let tasks = here.request.tasks;
    let demand = demand(binding, tasks);
    let found = in_the_way(here, cores, obstacle);
    let instead = better_line(binding, cores, tasks);
    let shown = repeated(binding);
    let text = format!("--binding={shown} asks for {demand}; {found}{instead}");
    here.binding_failed(binding, text)
}

/// Positions of each task's cores, or of those that all share.
fn positions(binding: &Binding, cores: &Cores, tasks: u32) -> Result<Vec<Vec<usize>>, Obstacle> {
    let takers = match binding.scope {
        Scope::Task => tasks,
        Scope::Host => 1,
    };
    match &binding.strategy {
        Strategy::None | Strategy::Auto(_) => Ok(vec![]),
        Strategy::Linear {
            amount,
            start: None,
        } => linear::anywhere(cores, takers, *amount),
        Strategy::Linear {
            amount,
            start: Some(start),
        } => linear::from(cores, takers, *amount, *start),
        Strategy::Striding {
            amount,
            step,
            start,
        } => striding(cores, takers, (*amount, *step), *start),
        // Section 4.1 of the specification: all tasks are served or none. Absolute cores are shared.
        Strategy::Explicit(places) => {
            let run = |place| cores.run(cores.find(place)?, 1, 1);
            let all: Result<Vec<_>, _> = places.iter().copied().map(run).collect();
            Ok(vec![all?.concat()])
        }
    }
}

fn amount(binding: &Binding) -> u32 {
    match &binding.strategy {
        Strategy::None | Strategy::Auto(_) => 0,
        Strategy::Linear { amount, .. } | Strategy::Striding { amount, .. } => *amount,
        Strategy::Explicit(places) => places.len() as u32,
    }
}

fn demand(binding: &Binding, tasks: u32) -> String {
    let amount = amount(binding);
    let shared = binding.scope == Scope::Host || matches!(binding.strategy, Strategy::Explicit(_));
    let cores = counted(amount, "core");
    match (shared, tasks) {
        (false, 2..) => format!("{tasks} tasks × {cores}"),
        _ => cores,
    }
}

fn in_the_way(here: &Situation<'_>, cores: &Cores, obstacle: Obstacle) -> String {
    let free = cores.free_count();
    let whole = counted(free, "whole free core");
    match obstacle {
        Obstacle::TooFew => format!("this step has {whole} on this node"),
        Obstacle::NoStart => format!(
            "the {whole} of this step on this node {} not lie as requested",
            either(&free, "does", "do")
        ),
        Obstacle::Absent(place) => {
            format!("this node has no core {place}, only {}", cores.extent())
        }
        Obstacle::Occupied(core) if core.state == State::Taken => {
            format!("another step is bound to core {} on this node", core.place)
        }
        Obstacle::Occupied(core) => not_owned(here, core),
        Obstacle::End => format!(
            "the binding goes past the last core; this node has {}",
            cores.extent()
        ),
    }
}

/// Why a core is not the step's.
fn not_owned(here: &Situation<'_>, core: Core) -> String {
    let table = here.node.table();
    let members = table.cores.members(core.index).iter().copied();
    let place = core.place;
    match here.narrowed_from(Some(&table.cpus(members))) {
        Some(narrowed) => format!(
            "core {place} is not free: {}",
            narrowed.leaves(&here.owned.cpus)
        ),
        None => format!(
            "this step does not own core {place} on this node, or owns only a part of it; a larger -c \
             gives more cores, and sbatch --exclusive gives whole nodes"
        ),
    }
}

/// The line that would have fitted, if there is one.
fn better_line(binding: &Binding, cores: &Cores, tasks: u32) -> String {
    let with = |scope, strategy| Binding {
        scope,
        strategy,
        ..binding.clone()
    };
    let linear = |amount| Strategy::Linear {
        amount,
        start: None,
    };
    let mut lines = Vec::new();
    if binding.scope == Scope::Task && tasks > 1 {
        lines.push(with(Scope::Host, binding.strategy.clone()));
    }
    if let Strategy::Striding { amount, step, .. } = binding.strategy {
        lines.push(with(
            binding.scope,
            Strategy::Striding {
                amount,
                step,
                start: None,
            },
        ));
    }
    lines.push(with(binding.scope, linear(amount(binding))));
    let found = cores.free_count() as u32;
    if binding.scope == Scope::Task {
        lines.push(with(Scope::Task, linear(found / tasks.max(1))));
    }
    lines.push(with(Scope::Host, linear(found)));
    let fits = |line: &&Binding| {
        *line != binding && amount(line) > 0 && positions(line, cores, tasks).is_ok()
    };
    lines.iter().find(fits).map_or_else(String::new, |line| {
        format!("; --binding={} would fit", repeated(line))
    })
}

/// `striding:AMOUNT:STEP[:SOCKET,CORE]`: the first taker begins exactly at the start, or at the
/// first core from 0,0 on that fits; each later one begins at the next core that fits, going up.
///
/// # Errors
/// The core that stands in the way of a given start; [`Obstacle::TooFew`] or
/// [`Obstacle::NoStart`] where a search found none.
fn striding(
    cores: &Cores,
    takers: u32,
    (amount, step): (u32, u32),
    start: Option<Place>,
) -> Result<Vec<Vec<usize>>, Obstacle> {
    let (amount, step) = (amount as usize, step as usize);
    let mut mine = vec![false; cores.len()];
    let mut found: Vec<Vec<usize>> = Vec::new();
    let mut next = 0;
    if let Some(place) = start {
        let at = cores.find(place)?;
        let run = cores.run(at, amount, step)?;
        run.iter().for_each(|position| mine[*position] = true);
        found.push(run);
        next = at + 1;
    }
    while found.len() < takers as usize {
        let free = |run: &Vec<usize>| run.iter().all(|position| !mine[*position]);
        let fits = |at: usize| cores.run(at, amount, step).ok().filter(free);
        let Some((at, run)) = (next..cores.len()).find_map(|at| Some((at, fits(at)?))) else {
            let wanted = (takers as usize).saturating_mul(amount);
            let enough = wanted <= cores.free_count();
            return Err(if enough {
                Obstacle::NoStart
            } else {
                Obstacle::TooFew
            });
        };
        run.iter().for_each(|position| mine[*position] = true);
        found.push(run);
        next = at + 1;
    }
    Ok(found)
}
