//! Requests of every sort for a machine.

use berth_placement::CpuSet;

use super::door::{Ask, LEVELS, Level, Own};
use super::facts::Tree;
use super::random::Random;

/// Values of `-m`, one for each way to lay tasks out.
pub const DISTRIBUTIONS: [&str; 9] = [
    "block",
    "block:block",
    "block:cyclic",
    "block:fcyclic",
    "cyclic:block",
    "plane=3",
    "block:block:cyclic",
    "block:cyclic:fcyclic",
    "cyclic:fcyclic:block",
];

/// A request without limits, at one of the levels or at none.
pub fn plain(random: &mut Random, tree: &Tree, levels: &[Option<Level>]) -> Ask {
    let own = own(random, tree);
    let level = random.pick(levels);
    let cpus_per_task = random.pick(&[1, 1, 1, 2, 2, 3, 4, 5]);
    let owned = tree.owned(&own);
    let (cpus, cores) = (owned.count() as u32, owned.cores.len() as u32);
    let sockets = owned.by_socket().len() as u32;
    let tasks = match random.within(0, 7) {
        0 => cpus,
        1 => cores,
        2 => sockets,
        3 => random.within(1, 2 * cpus),
        _ => random.within(1, cpus),
    };
    Ask {
        tasks: (tasks / random.pick(&[1, cpus_per_task])).max(1),
        cpus_per_task,
        level,
        distribution: random.pick(&DISTRIBUTIONS),
        own,
        ..Ask::default()
    }
}

/// Any request: limits, hints, overcommit and Grid Engine's bindings too.
pub fn any(random: &mut Random, tree: &Tree) -> Ask {
    let mut ask = plain(
        random,
        tree,
        &[
            None,
            Some(LEVELS[0]),
            Some(LEVELS[1]),
            Some(LEVELS[2]),
            Some(LEVELS[3]),
        ],
    );
    ask.one_thread = random.once_in(8);
    ask.threads_per_core = random.maybe(8, 1, 4);
    ask.ntasks_per_core = random.maybe(8, 1, 3);
    ask.ntasks_per_socket = random.maybe(8, 1, 4);
    ask.overcommit = random.once_in(5);
    if random.once_in(5) {
        ask.binding = Some(binding(random));
    }
    ask
}

/// A `--binding`.
pub fn binding(random: &mut Random) -> String {
    let (amount, step) = (random.within(1, 4), random.within(1, 4));
    let (socket, core) = (random.pick(&[0, 0, 1, 2]), random.within(0, 4));
    let scope = random.pick(&["", "task:", "host:"]);
    let strategy = match random.within(0, 5) {
        0 | 1 => format!("linear:{amount}"),
        2 => format!("linear:{amount}:{socket},{core}"),
        3 => format!("striding:{amount}:{step}"),
        4 => format!("striding:{amount}:{step}:{socket},{core}"),
        _ => format!("explicit:0,{step}:{socket},0"),
    };
    format!("{scope}{strategy}")
}

/// The whole machine, cores of a credential, or CPUs; at least one CPU that may be used.
pub fn own(random: &mut Random, tree: &Tree) -> Own {
    let own = match random.within(0, 2) {
        0 => Own::Whole,
        1 => cores(random, tree),
        _ => {
            let all: Vec<_> = tree.present(&Own::Whole).iter().collect();
            let some = random.some_of(all.len() as u32);
            let cpus: CpuSet = some.into_iter().map(|at| all[at as usize]).collect();
            Own::Cpus(cpus)
        }
    };
    if tree.owned(&own).count() == 0 {
        Own::Whole
    } else {
        own
    }
}

/// Cores as slurmctld counts them: as slurmd told it, or as slurm.conf has them all.
pub fn cores(random: &mut Random, tree: &Tree) -> Own {
    let all = tree.cores.len() as u32;
    let configured = random.pick(&[all, tree.counted_cores().min(all)]);
    Own::Cores(random.some_of(configured), configured)
}
