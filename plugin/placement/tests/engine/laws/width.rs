//! A task gets the CPUs that -c asks for, or is told.

use berth_placement::{CpuSet, Level, Note};

use crate::harness::ask::Ask;
use crate::harness::random::Random;
use crate::harness::requests::plain;
use crate::harness::tree::Tree;
use crate::harness::trial::{Case, Verdict, holds};

/// At threads, perhaps with few tasks for each socket.
pub fn at_threads(random: &mut Random, tree: &Tree) -> Ask {
    let mut ask = plain(random, tree, &[Some(Level::Threads)]);
    ask.request.ntasks_per_socket = random.maybe(2, 1, 3);
    ask
}

/// Bound to threads, a task has as many as it asked for while there is room.
pub fn as_asked(case: &Case) -> Verdict {
    let (requested, tasks) = (case.ask.request.cpus_per_task as usize, case.tasks());
    let answer = case.answer().ok()?;
    if tasks > case.owned.count() {
        return None;
    }
    let least = requested.min(case.owned.count() / tasks);
    let fits = |width: usize| width >= least && width <= requested;
    holds(answer.masks.iter().all(|mask| fits(mask.count())), || {
        format!("a task should have {least} to {requested} CPUs")
    })
}

/// Every task has the width of the decision while there is room, and a note says where that is less than was asked
/// (`_task_layout_lllp_cyclic` takes exactly `cpus_per_task` of them).
pub fn shrunk_is_said(case: &Case) -> Verdict {
    let (answer, request) = (case.answer().ok()?, &case.ask.request);
    let width = answer.plan.decision.cpus_per_task as usize;
    let mut notes = answer.plan.notes.iter();
    let is_said = notes.any(|note| matches!(note, Note::CpusPerTaskShrunk { .. }));
    let has_room = case.tasks() * width <= case.tree.machine.cpus().count();
    let is_equal = has_room && request.ntasks_per_socket.is_none();
    let widths: Vec<_> = answer.masks.iter().map(CpuSet::count).collect();
    let fits = |count: &usize| *count == width || *count < width && !is_equal;
    let is_shrunk = width < request.cpus_per_task as usize;
    holds(is_said == is_shrunk && widths.iter().all(fits), || {
        format!("{width} CPUs are said: {widths:?}")
    })
}

pub fn fewer_is_said(case: &Case) -> Verdict {
    let answer = case.answer().ok()?;
    let requested = case.ask.request.cpus_per_task as usize;
    let narrow = answer.masks.iter().find(|mask| mask.count() < requested);
    let is_said = narrow.is_none() || !answer.notes.is_empty();
    holds(is_said, || {
        format!("{narrow:?} is fewer than {requested} CPUs, and no note says so")
    })
}
