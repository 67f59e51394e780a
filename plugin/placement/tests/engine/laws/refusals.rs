//! What can be served is not refused; what cannot be is.

use crate::harness::ask::Ask;
use crate::harness::random::Random;
use crate::harness::requests::{binding, perhaps_at_a_level};
use crate::harness::tree::Tree;
use crate::harness::trial::{Case, Verdict, holds};

pub fn unlimited(random: &mut Random, tree: &Tree) -> Ask {
    let mut ask = perhaps_at_a_level(random, tree);
    ask.request.overcommit = random.once_in(4);
    ask.request.tasks = random.within(ask.request.tasks, 2 * ask.request.tasks);
    ask
}

pub fn perhaps_bound(random: &mut Random, tree: &Tree) -> Ask {
    let mut ask = unlimited(random, tree);
    if random.once_in(4) {
        ask.request.binding = binding(random).parse().ok();
    }
    ask
}

/// A request that can be served is not refused.
pub fn served(case: &Case) -> Verdict {
    if !case.ask.request.overcommit && case.ask.wanted() > case.owned.count() {
        return None;
    }
    holds(case.answer().is_ok(), || {
        format!("the step owns {}", case.owned.cpus)
    })
}

/// More tasks than CPUs are refused without --overcommit. Where nothing was asked, a note is enough.
pub fn too_many(case: &Case) -> Verdict {
    let request = &case.ask.request;
    if request.overcommit || case.tasks() <= case.owned.count() {
        return None;
    }
    let is_quiet = match case.answer() {
        Ok(answer) => request.cpu_bind.level.is_some() || answer.notes.is_empty(),
        Err(_) => false,
    };
    holds(!is_quiet, || {
        format!("the step owns only {}", case.owned.cpus)
    })
}
