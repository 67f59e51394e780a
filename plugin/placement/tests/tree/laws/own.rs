//! Tasks are somewhere, and nowhere they have no right to be.

use super::super::asking::any;
use super::super::harness::{Case, Law, Verdict};

pub const ONLY_OWNED: Law = Law {
    name: "only CPUs of the step",
    request: any,
    holds: only_owned,
};

pub const ONLY_PRESENT: Law = Law {
    name: "only CPUs that are there and permitted",
    request: any,
    holds: only_present,
};

pub const SOMEWHERE: Law = Law {
    name: "every task has a CPU",
    request: any,
    holds: somewhere,
};

fn only_owned(case: &Case) -> Verdict {
    let Ok(answer) = case.answer() else {
        return Verdict::Aside;
    };
    let own = &case.owned.cpus;
    let beyond = answer.masks.iter().find(|mask| !mask.is_subset(own));
    Verdict::when(beyond.is_none(), || format!("the step owns {own}"))
}

fn only_present(case: &Case) -> Verdict {
    let Ok(answer) = case.answer() else {
        return Verdict::Aside;
    };
    let present = case.tree.present(&case.request.own);
    let beyond = answer.masks.iter().find(|mask| !mask.is_subset(&present));
    Verdict::when(beyond.is_none(), || format!("there are {present}"))
}

pub fn somewhere(case: &Case) -> Verdict {
    let Ok(answer) = case.answer() else {
        return Verdict::Aside;
    };
    let each = answer.masks.len() == case.request.tasks as usize;
    let some = answer.masks.iter().all(|mask| !mask.is_empty());
    Verdict::when(each && some, || "a task without a CPU".into())
}
