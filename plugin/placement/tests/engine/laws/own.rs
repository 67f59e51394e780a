//! Tasks are somewhere, and nowhere they have no right to be.

use crate::harness::trial::{Case, Verdict, holds};

pub fn only_owned(case: &Case) -> Verdict {
    let answer = case.answer().ok()?;
    let own = &case.owned.cpus;
    holds(answer.used().is_subset(own), || {
        format!("the step owns {own}")
    })
}

pub fn only_present(case: &Case) -> Verdict {
    let answer = case.answer().ok()?;
    let present = case.tree.present(&case.ask.request.allocation);
    holds(answer.used().is_subset(&present), || {
        format!("there are {present}")
    })
}

pub fn somewhere(case: &Case) -> Verdict {
    let answer = case.answer().ok()?;
    let each = answer.masks.len() == case.tasks();
    let some = answer.masks.iter().all(|mask| !mask.is_empty());
    holds(each && some, || "a task without a CPU".into())
}
