//! A task gets the CPUs that -c asks for, or is told.

use super::super::asking::{any, plain};
use super::super::door::{Ask, Level};
use super::super::harness::{Case, Law, Verdict};

pub const AS_ASKED: Law = Law {
    name: "bound to threads, a task has as many as it asked for while there is room",
    request: |random, tree| plain(random, tree, &[Some(Level::Threads)]),
    holds: as_asked,
};

pub const FEWER_IS_SAID: Law = Law {
    name: "a task that gets fewer CPUs than it asked for is told",
    request: |random, tree| Ask {
        binding: None,
        ..any(random, tree)
    },
    holds: fewer_is_said,
};

fn as_asked(case: &Case) -> Verdict {
    let (requested, tasks) = (
        case.request.cpus_per_task as usize,
        case.request.tasks as usize,
    );
    let Ok(answer) = case.answer() else {
        return Verdict::Aside;
    };
    if tasks > case.owned.count() {
        return Verdict::Aside;
    }
    let least = requested.min(case.owned.count() / tasks);
    let fits = |width: usize| width >= least && width <= requested;
    let wrong = answer.masks.iter().find(|mask| !fits(mask.count()));
    Verdict::when(wrong.is_none(), || {
        format!("a task should have {least} to {requested} CPUs")
    })
}

fn fewer_is_said(case: &Case) -> Verdict {
    let Ok(answer) = case.answer() else {
        return Verdict::Aside;
    };
    let requested = case.request.cpus_per_task as usize;
    let narrow = answer.masks.iter().find(|mask| mask.count() < requested);
    let Some(mask) = narrow else {
        return Verdict::Holds;
    };
    Verdict::when(!answer.notes.is_empty(), || {
        format!("{mask} is fewer than {requested} CPUs, and no note says so")
    })
}
