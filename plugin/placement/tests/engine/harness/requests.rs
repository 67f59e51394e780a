//! Requests of every sort for a machine.

use berth_placement::{
    Allocation, CoreIdx, CoreSpec, CpuBind, CpuId, CpuSet, Fix, Fixes, Level, Request,
};

use super::ask::{Ask, LEVELS, distribution};
use super::random::Random;
use super::tree::Tree;

/// Values of `-m`, one for each way to lay tasks out.
pub const DISTRIBUTIONS: [&str; 14] = [
    "*",
    "block",
    "cyclic",
    "arbitrary",
    "plane=2",
    "plane=3",
    "block:block",
    "block:cyclic",
    "block:fcyclic",
    "cyclic:block",
    "block:block:cyclic",
    "block:cyclic:fcyclic",
    "cyclic:cyclic",
    "cyclic:fcyclic:block",
];

/// A request without limits, at one of the levels or at none.
pub fn plain(random: &mut Random, tree: &Tree, levels: &[Option<Level>]) -> Ask {
    let allocation = allocation(random, tree);
    let level = random.pick(levels);
    let cpus_per_task = random.pick(&[1, 1, 1, 2, 2, 3, 4, 5, 8]);
    let owned = tree.owned(&allocation);
    let (cpus, cores) = (owned.count() as u32, owned.cores.len() as u32);
    let sockets = owned.by_socket().len() as u32;
    let tasks = match random.within(0, 7) {
        0 => cpus,
        1 => cores,
        2 => sockets,
        3 => random.within(1, 2 * cpus),
        _ => random.within(1, cpus),
    };
    let request = Request {
        tasks: (tasks / random.pick(&[1, cpus_per_task])).max(1),
        cpus_per_task,
        cpu_bind: CpuBind {
            level,
            ..CpuBind::default()
        },
        distribution: distribution(random.pick(&DISTRIBUTIONS)),
        allocation,
        ..Request::default()
    };
    Ask {
        request,
        ..Ask::default()
    }
}

/// One of the four levels.
pub fn at_a_level(random: &mut Random, tree: &Tree) -> Ask {
    plain(random, tree, &LEVELS.map(Some))
}

/// A level or none.
pub fn perhaps_at_a_level(random: &mut Random, tree: &Tree) -> Ask {
    plain(random, tree, &[&LEVELS.map(Some)[..], &[None]].concat())
}

/// Any request: limits, hints, overcommit and Grid Engine's bindings too.
pub fn any(random: &mut Random, tree: &Tree) -> Ask {
    let mut ask = perhaps_at_a_level(random, tree);
    let request = &mut ask.request;
    request.cpu_bind.one_thread = random.once_in(8);
    request.threads_per_core = random.maybe(8, 1, 4);
    request.ntasks_per_core = random.maybe(8, 1, 3);
    request.ntasks_per_socket = random.maybe(8, 1, 4);
    request.overcommit = random.once_in(5);
    if random.once_in(5) {
        request.binding = binding(random).parse().ok();
    }
    ask
}

/// A request for some CPUs, answered as task/affinity would, but inside the step where that widens to whole NUMA nodes.
pub fn with_affinitys_rules(random: &mut Random, tree: &Tree) -> Ask {
    let mut ask = perhaps_at_a_level(random, tree);
    ask.request.cpu_bind.one_thread = random.once_in(4);
    ask.request.ntasks_per_socket = random.maybe(2, 1, 3);
    ask.request.overcommit = random.once_in(2);
    ask.request.allocation = Allocation::Cpus(some_of(random, tree.machine.cpus()));
    ask.rules.fixes = Fixes::NONE.with(Fix::LdomsInside, true);
    ask
}

/// Any request, perhaps of a job that specialises hardware threads.
pub fn any_with_threads_kept(random: &mut Random, tree: &Tree) -> Ask {
    let mut ask = any(random, tree);
    if random.once_in(4) {
        ask.request.core_spec = CoreSpec::Threads(random.within(0, 5));
    }
    ask
}

pub fn without_binding(random: &mut Random, tree: &Tree) -> Ask {
    let mut ask = any(random, tree);
    ask.request.binding = None;
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
fn allocation(random: &mut Random, tree: &Tree) -> Allocation {
    let own = match random.within(0, 2) {
        0 => Allocation::Whole,
        1 => cores_beyond(random, tree),
        _ => Allocation::Cpus(some_of(random, &tree.present(&Allocation::Whole))),
    };
    if tree.owned(&own).count() == 0 {
        Allocation::Whole
    } else {
        own
    }
}

/// At least one of these CPUs.
pub fn some_of(random: &mut Random, cpus: &CpuSet) -> CpuSet {
    let all: Vec<CpuId> = cpus.iter().collect();
    let some = random.some_of(all.len() as u32);
    some.into_iter().map(|at| all[at as usize]).collect()
}

/// None of a machine's CPUs, or a few of them.
pub fn few_of(random: &mut Random, tree: &Tree) -> CpuSet {
    let rarity = random.within(2, 8);
    let cpus = tree.machine.cpus().iter();
    cpus.filter(|_| random.once_in(rarity)).collect()
}

/// Cores as slurmctld counts them: as slurmd told it, or as slurm.conf has them all.
pub fn cores(random: &mut Random, tree: &Tree) -> Allocation {
    let all = tree.cores.len() as u32;
    let configured = random.pick(&[all, tree.counted_cores().min(all)]);
    cores_of(random, configured)
}

/// Perhaps more cores than the machine has.
fn cores_beyond(random: &mut Random, tree: &Tree) -> Allocation {
    let all = tree.cores.len() as u32;
    let is_counted = tree.counted_cores() == all;
    match is_counted && random.once_in(3) {
        true => cores_of(random, all.max(40)),
        false => cores(random, tree),
    }
}

fn cores_of(random: &mut Random, configured: u32) -> Allocation {
    let cores = random.some_of(configured);
    Allocation::Cores {
        cores: cores.into_iter().map(CoreIdx).collect(),
        configured,
    }
}
