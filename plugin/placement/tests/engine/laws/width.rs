//! A task gets the CPUs that -c asks for, or is told.

use crate::harness::trial::{Case, Verdict, holds};

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

pub fn fewer_is_said(case: &Case) -> Verdict {
    let answer = case.answer().ok()?;
    let requested = case.ask.request.cpus_per_task as usize;
    let narrow = answer.masks.iter().find(|mask| mask.count() < requested);
    let is_said = narrow.is_none() || !answer.notes.is_empty();
    holds(is_said, || {
        format!("{narrow:?} is fewer than {requested} CPUs, and no note says so")
    })
}
