//! `--binding`: whole cores, none to two tasks, and exactly those that the strategy names.

use std::collections::BTreeSet;

use berth_placement::request::grid_engine::{Binding, Place, Scope, Strategy};
use berth_placement::{CpuSet, Refusal};

use crate::harness::ask::Ask;
use crate::harness::random::Random;
use crate::harness::requests::{any, binding};
use crate::harness::tree::{Tree, TreeCore};
use crate::harness::trial::{Case, Verdict, broken, holds};

pub fn bound(random: &mut Random, tree: &Tree) -> Ask {
    let mut ask = any(random, tree);
    let tasks = random.within(1, tree.cores.len() as u32 + 1);
    let strict = random.pick(&["", "", "strict:"]);
    let request = &mut ask.request;
    request.tasks = random.pick(&[1, 2, 3, tasks]);
    request.cpu_bind.one_thread = random.once_in(6);
    let threads = random.maybe(6, 1, 3);
    request.threads_per_core = threads.filter(|_| !request.cpu_bind.one_thread);
    request.binding = format!("{strict}{}", binding(random)).parse().ok();
    ask
}

/// `--binding` gives whole cores of its own to each task, or nothing to any.
pub fn chosen(case: &Case) -> Verdict {
    let binding = case.ask.request.binding.as_ref()?;
    let expected = expected(case, binding);
    if binding.strict && expected.is_none() {
        let is_refused = matches!(case.answer(), Err(Refusal::BindingFailed(_)));
        return holds(is_refused, || "it cannot be had".into());
    }
    let Ok(answer) = case.answer() else {
        return broken("it is refused");
    };
    let all = |mask: &CpuSet| *mask == case.owned.cpus;
    let Some(expected) = expected else {
        let free = answer.masks.iter().all(all) && !answer.notes.is_empty();
        return holds(free, || {
            "cannot be had: all CPUs and a note are right".into()
        });
    };
    let picked: Vec<BTreeSet<usize>> = answer.masks.iter().map(|mask| cores(case, mask)).collect();
    for (mask, cores) in answer.masks.iter().zip(&picked) {
        if *mask != cpus(case, cores) {
            return broken(format!("{mask} is not the threads of cores {cores:?}"));
        }
    }
    match expected {
        Expected::Exactly(cores) => holds(picked == cores, || format!("cores {cores:?} are right")),
        Expected::Any { amount, apart } => {
            let total: usize = picked.iter().map(BTreeSet::len).sum();
            let distinct = picked.iter().flatten().collect::<BTreeSet<_>>().len();
            let free = picked.iter().flatten().all(|core| is_free(case, *core));
            let each = picked.iter().all(|cores| cores.len() == amount);
            let alone = if apart {
                distinct == total
            } else {
                distinct == amount
            };
            holds(free && each && alone, || {
                format!("{amount} free cores are right, the tasks have {picked:?}")
            })
        }
    }
}

enum Expected {
    /// These cores, by their positions in slurmd's order, for each task.
    Exactly(Vec<BTreeSet<usize>>),
    /// `amount` cores: `apart`, of its own for each task, else the same for all.
    Any { amount: usize, apart: bool },
}

/// Cores that the step has only a part of are no cores to bind to.
fn is_free(case: &Case, position: usize) -> bool {
    case.owned
        .cores
        .iter()
        .any(|core| core.at == position && core.whole)
}

/// Positions of the cores that a mask touches.
fn cores(case: &Case, mask: &CpuSet) -> BTreeSet<usize> {
    let touched = case
        .owned
        .cores
        .iter()
        .filter(|core| core.cpus.intersects(mask));
    touched.map(|core| core.at).collect()
}

/// The threads of cores that a task uses.
fn cpus(case: &Case, cores: &BTreeSet<usize>) -> CpuSet {
    let one = case.ask.request.cpu_bind.one_thread.then_some(1);
    let limit = case
        .ask
        .request
        .threads_per_core
        .or(one)
        .unwrap_or(u32::MAX) as usize;
    let pus = cores
        .iter()
        .flat_map(|at| case.tree.cores[*at].pus.iter().take(limit));
    pus.copied().collect()
}

/// What the strategy's text promises; none where it cannot be had.
#[expect(clippy::too_many_lines, reason = "one arm for each strategy")]
fn expected(case: &Case, binding: &Binding) -> Option<Expected> {
    let tasks = case.tasks();
    let takers = if binding.scope == Scope::Host {
        1
    } else {
        tasks
    };
    let find = |place: &Place| {
        let here = |core: &TreeCore| {
            core.socket == place.socket as usize && core.number == place.core as usize
        };
        case.tree.cores.iter().position(here)
    };
    let runs = match &binding.strategy {
        Strategy::None | Strategy::Auto(_) => return None,
        Strategy::Linear {
            amount,
            start: None,
        } => {
            let amount = *amount as usize;
            let free = (0..case.tree.cores.len())
                .filter(|at| is_free(case, *at))
                .count();
            let apart = binding.scope == Scope::Task;
            return (free >= takers * amount).then_some(Expected::Any { amount, apart });
        }
        Strategy::Linear {
            amount,
            start: Some(start),
        } => {
            let (first, amount) = (find(start)?, *amount as usize);
            (0..takers)
                .map(|task| run(case, first + task * amount, amount, 1))
                .collect::<Option<Vec<_>>>()?
        }
        Strategy::Striding {
            amount,
            step,
            start,
        } => {
            let start = match start {
                Some(start) => Some(find(start)?),
                None => None,
            };
            strides(case, takers, (*amount as usize, *step as usize), start)?
        }
        Strategy::Explicit(places) => {
            let places: Option<BTreeSet<usize>> = places.iter().map(find).collect();
            vec![
                places?
                    .into_iter()
                    .map(|at| is_free(case, at).then_some(at))
                    .collect::<Option<_>>()?,
            ]
        }
    };
    let shared = runs.len() == 1;
    let of = |task: usize| runs[if shared { 0 } else { task }].clone();
    Some(Expected::Exactly((0..tasks).map(of).collect()))
}

/// `amount` free cores from `first` on, `step` positions apart; none if one of them is not free.
fn run(case: &Case, first: usize, amount: usize, step: usize) -> Option<BTreeSet<usize>> {
    let at = |number: usize| first + number * step;
    (0..amount)
        .map(|number| is_free(case, at(number)).then(|| at(number)))
        .collect()
}

/// The first task exactly at the start, each later one at the next place where all is free.
fn strides(
    case: &Case,
    takers: usize,
    (amount, step): (usize, usize),
    start: Option<usize>,
) -> Option<Vec<BTreeSet<usize>>> {
    let mut found: Vec<BTreeSet<usize>> = Vec::new();
    let mut next = start.unwrap_or(0);
    while found.len() < takers {
        let fits = |at: usize| {
            let run = run(case, at, amount, step)?;
            found
                .iter()
                .all(|other| other.is_disjoint(&run))
                .then_some((at, run))
        };
        let exact = start.is_some() && found.is_empty();
        let last = if exact {
            next + 1
        } else {
            case.tree.cores.len()
        };
        let (at, run) = (next..last).find_map(fits)?;
        found.push(run);
        next = at + 1;
    }
    Some(found)
}
