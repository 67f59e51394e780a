//! What can be served is not refused; what cannot be is.

use super::super::asking::{binding, plain};
use super::super::door::{Ask, LEVELS};
use super::super::facts::Tree;
use super::super::harness::{Case, Law, Verdict};
use super::super::random::Random;

pub const SERVED: Law = Law {
    name: "a request that can be served is not refused",
    request: perhaps_bound,
    holds: served,
};

pub const TOO_MANY: Law = Law {
    name: "more tasks than CPUs are refused without --overcommit, or told where nothing was asked",
    request: unlimited,
    holds: too_many,
};

fn unlimited(random: &mut Random, tree: &Tree) -> Ask {
    let levels = LEVELS.map(Some);
    let request = plain(random, tree, &[&levels[..], &[None]].concat());
    let overcommit = random.once_in(4);
    Ask {
        tasks: random.within(request.tasks, 2 * request.tasks),
        overcommit,
        ..request
    }
}

fn perhaps_bound(random: &mut Random, tree: &Tree) -> Ask {
    let binding = random.once_in(4).then(|| binding(random));
    Ask {
        binding,
        ..unlimited(random, tree)
    }
}

fn served(case: &Case) -> Verdict {
    if !case.request.overcommit && case.request.wanted() > case.owned.count() {
        return Verdict::Aside;
    }
    let refused = case.answer().err();
    Verdict::when(refused.is_none(), || {
        format!("the step owns {}", case.owned.cpus)
    })
}

fn too_many(case: &Case) -> Verdict {
    if case.request.overcommit || case.request.tasks as usize <= case.owned.count() {
        return Verdict::Aside;
    }
    let quiet = match case.answer() {
        Ok(answer) => case.request.level.is_some() || answer.notes.is_empty(),
        Err(_) => false,
    };
    Verdict::when(!quiet, || format!("the step owns only {}", case.owned.cpus))
}
