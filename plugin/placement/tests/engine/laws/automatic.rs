//! Where nothing is asked, tasks are bound to the level whose objects they fill exactly.

use berth_placement::Level;

use crate::harness::ask::Ask;
use crate::harness::random::Random;
use crate::harness::requests::plain;
use crate::harness::tree::{OwnedCore, Tree};
use crate::harness::trial::{Case, Verdict, holds};

/// Tasks as many as sockets, cores or threads, mostly.
pub fn fitting(random: &mut Random, tree: &Tree) -> Ask {
    let mut ask = plain(random, tree, &[None]);
    let owned = tree.owned(&ask.request.allocation);
    let counts = [
        owned.by_socket().len(),
        owned.cores.len(),
        owned.count(),
        ask.request.tasks as usize,
    ];
    let wanted = random.pick(&counts) as u32;
    let each = random.pick(&[1, 1, 2, 3]);
    let each = if wanted.is_multiple_of(each) { each } else { 1 };
    ask.request.tasks = wanted / each;
    ask.request.cpus_per_task = each;
    ask
}

/// Automatic is the level that fits exactly, else all of the step's CPUs.
pub fn exact(case: &Case) -> Verdict {
    let wanted = case.ask.wanted();
    // Whether a socket with a CPU that nobody may use can be owned whole is not said.
    let present = case.tree.present(&case.ask.request.allocation);
    if wanted > case.owned.count() || present != *case.tree.machine.cpus() {
        return None;
    }
    let level = level(case, wanted);
    let mut at_level = case.ask.clone();
    at_level.request.cpu_bind.level = level;
    let expected = match level {
        Some(_) => case.answer_to(&at_level).map(|answer| answer.masks),
        None => Ok(vec![case.owned.cpus.clone(); case.tasks()]),
    };
    let masks = case.answer().map(|answer| answer.masks);
    holds(masks == expected, || {
        format!("at level {level:?} it would be {expected:?}")
    })
}

/// Whole sockets before whole cores before threads.
fn level(case: &Case, wanted: usize) -> Option<Level> {
    let (tree, owned) = (case.tree, &case.owned);
    let by_socket = owned.by_socket();
    let all_of = |socket: usize| {
        let cores = tree.cores.iter().filter(|core| core.socket == socket);
        cores.count()
    };
    let is_whole = |cores: &Vec<&OwnedCore>| {
        cores.iter().all(|core| core.whole) && cores.len() == all_of(cores[0].socket)
    };
    let has_whole_sockets = by_socket.iter().all(is_whole);
    let has_whole_cores = owned.cores.iter().all(|core| core.whole);
    match wanted {
        count if has_whole_sockets && count == by_socket.len() => Some(Level::Sockets),
        count if has_whole_cores && count == owned.cores.len() => Some(Level::Cores),
        count if count == owned.count() => Some(Level::Threads),
        _ => None,
    }
}
