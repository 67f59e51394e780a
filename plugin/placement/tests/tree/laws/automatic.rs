//! Where nothing is asked, tasks are bound to the level whose objects they fill exactly.

use super::super::asking::plain;
use super::super::door::{Ask, Level};
use super::super::facts::Tree;
use super::super::harness::{Case, Law, Verdict};
use super::super::random::Random;

pub const EXACT: Law = Law {
    name: "automatic is the level that fits exactly, else all of the step's CPUs",
    request: fitting,
    holds: exact,
};

/// Tasks as many as sockets, cores or threads, mostly.
fn fitting(random: &mut Random, tree: &Tree) -> Ask {
    let request = plain(random, tree, &[None]);
    let owned = tree.owned(&request.own);
    let counts = [
        owned.by_socket().len(),
        owned.cores.len(),
        owned.count(),
        request.tasks as usize,
    ];
    let wanted = random.pick(&counts) as u32;
    let each = random.pick(&[1, 1, 2, 3]);
    let divides = wanted.is_multiple_of(each);
    Ask {
        tasks: if divides { wanted / each } else { wanted },
        cpus_per_task: if divides { each } else { 1 },
        ..request
    }
}

fn exact(case: &Case) -> Verdict {
    let wanted = case.request.wanted();
    // Whether a socket with a CPU that nobody may use can be owned whole is not said.
    if wanted > case.owned.count()
        || case.tree.present(&case.request.own) != *case.tree.machine.cpus()
    {
        return Verdict::Aside;
    }
    let (one, level) = (case.answer(), level(case, wanted));
    let expected = match level {
        Some(_) => case
            .answer_to(&Ask {
                level,
                ..case.request.clone()
            })
            .map(|answer| answer.masks),
        None => Ok(vec![case.owned.cpus.clone(); case.request.tasks as usize]),
    };
    let masks = one.map(|answer| answer.masks);
    Verdict::when(masks == expected, || {
        format!("at level {level:?} it would be {expected:?}")
    })
}

/// Whole sockets before whole cores before threads.
fn level(case: &Case, wanted: usize) -> Option<Level> {
    let (tree, owned) = (case.tree, &case.owned);
    let by_socket = owned.by_socket();
    let all_of = |socket: usize| {
        tree.cores
            .iter()
            .filter(|core| core.socket == socket)
            .count()
    };
    let whole = |cores: &Vec<&super::super::facts::OwnedCore>| {
        cores.iter().all(|core| core.whole) && cores.len() == all_of(cores[0].socket)
    };
    let sockets = by_socket.iter().all(whole).then_some(by_socket.len());
    let cores = owned
        .cores
        .iter()
        .all(|core| core.whole)
        .then_some(owned.cores.len());
    match wanted {
        count if sockets == Some(count) => Some(Level::Sockets),
        count if cores == Some(count) => Some(Level::Cores),
        count if count == owned.count() => Some(Level::Threads),
        _ => None,
    }
}
