//! A request from a seed: every field that task/affinity reads, over its values.

use slurm_sys::Layout;
use slurm_sys::layout::Constants;

use crate::allocation::Credential;
use crate::case::{Case, INFINITE, NOT_GIVEN};
use crate::lists;
use crate::machine::{Class, Machine};
use crate::random::Random;

/// First level of `--distribution`, with what slurmctld leaves for "not said".
const HOSTS: [u32; 5] = [0x1, 0x2, 0x3, 0x4, 0x2000];
/// SLURM_DIST_PACK_NODES and SLURM_DIST_NO_PACK_NODES.
const PACKING: [u32; 3] = [0, 0x80_0000, 0x40_0000];

/// The request of a seed.
#[must_use]
pub fn case(seed: u64, class: Class, layout: &Layout) -> Case {
    let random = &mut Random::new(seed);
    let mut machine = Machine::any(class, random);
    if matches!(class, Class::Threads | Class::Cores) {
        match random.within(0, 29) {
            0 => machine.make_hole(random),
            1 => machine.misconfigure(random),
            2..=4 => machine = Machine::irregular(class, random),
            _ => {}
        }
    }
    let cred = Credential::any(&machine, random);
    let (tasks, cpus_per_task) = amounts(&machine, &cred, random);
    let (tasks_to_launch, node_id) = step_nodes(tasks, random);
    let mut case = Case {
        seed,
        class,
        tasks_to_launch,
        node_id,
        cpus_per_task,
        threads_per_core: threads_per_core(machine.threads, random),
        ntasks_per_core: limit(3, random),
        ntasks_per_socket: limit(5, random),
        task_dist: distribution(random),
        overcommit: random.once_in(4),
        job_core_spec: core_spec(layout, random),
        cpu_bind_type: 0,
        cpu_bind: None,
        task_plugin_param: site_default(&layout.constants, random),
        select_type_param: if random.once_in(3) {
            layout.constants.CR_CORE_DEFAULT_DIST_BLOCK as u16
        } else {
            0
        },
        machine,
        cred,
    };
    binding(&mut case, &layout.constants, random);
    case
}

/// Tasks, and CPUs of each: few, fitting, too many, and exactly as many as there are objects,
/// which is what auto binding looks for.
fn amounts(machine: &Machine, cred: &Credential, random: &mut Random) -> (u16, u16) {
    let threads = u32::from(machine.threads);
    let own_cores = cred.cores().len() as u32;
    let own = own_cores * threads;
    let tasks = match random.within(0, 7) {
        0..=1 => random.within(1, 8),
        2..=3 => random.within(1, own),
        4 => random.pick(&[own_cores, own, machine.sockets.into()]),
        5..=6 => random.within(1, own.div_ceil(2)),
        _ => random.within(1, 2 * machine.pu_count()),
    };
    let cpus_per_task = match random.within(0, 7) {
        0..=3 => 1,
        4..=5 => random.within(1, threads + 2),
        6 => (own / tasks).max(1),
        _ => random.within(1, own + 2),
    };
    (tasks as u16, cpus_per_task as u16)
}

/// The step's nodes, of which this is one.
fn step_nodes(tasks: u16, random: &mut Random) -> (Vec<u16>, u32) {
    let mut nodes: Vec<u16> = (0..random.within(0, 3))
        .map(|_| random.small(1, 9))
        .collect();
    let node_id = random.within(0, nodes.len() as u32);
    nodes.insert(node_id as usize, tasks);
    (nodes, node_id)
}

fn threads_per_core(threads: u16, random: &mut Random) -> u16 {
    match random.within(0, 9) {
        0..=5 => NOT_GIVEN,
        6 => 0,
        7 => 1,
        _ => random.small(1, threads),
    }
}

fn limit(most: u16, random: &mut Random) -> u16 {
    match random.within(0, 9) {
        0..=5 => INFINITE,
        6 => 0,
        7 => NOT_GIVEN,
        _ => random.small(1, most),
    }
}

fn distribution(random: &mut Random) -> u32 {
    let sockets = random.pick(&[0, 0x10, 0x20, 0x30]);
    let cores = random.pick(&[0, 0, 0x100, 0x200, 0x300]);
    random.pick(&HOSTS) | sockets | cores | random.pick(&PACKING)
}

fn core_spec(layout: &Layout, random: &mut Random) -> u16 {
    let threads = layout.constants.CORE_SPEC_THREAD as u16;
    match random.within(0, 11) {
        0 => random.small(0, 3),
        1 => threads | random.small(0, 4),
        2 => threads | random.small(0, 20),
        _ => NOT_GIVEN,
    }
}

/// `TaskPluginParam=autobind=…`.
fn site_default(constants: &Constants, random: &mut Random) -> u32 {
    let bits = [
        constants.CPU_AUTO_BIND_TO_THREADS,
        constants.CPU_AUTO_BIND_TO_CORES,
        constants.CPU_AUTO_BIND_TO_SOCKETS,
    ];
    match random.within(0, 3) {
        0 => random.pick(&bits),
        1 if random.once_in(4) => random.pick(&bits) | random.pick(&bits),
        _ => 0,
    }
}

fn binding(case: &mut Case, c: &Constants, random: &mut Random) {
    let levels = [
        (0, None),
        (c.CPU_BIND_TO_THREADS, Some("threads")),
        (c.CPU_BIND_TO_CORES, Some("cores")),
        (c.CPU_BIND_TO_SOCKETS, Some("sockets")),
        (c.CPU_BIND_TO_LDOMS, Some("ldoms")),
    ];
    let domains = matches!(case.class, Class::Ldoms(_));
    // Where domains are asked for, a process knows one machine's.
    let of = if domains { &levels } else { &levels[..4] };
    let (mut bits, keyword) = random.pick(of);
    if domains && random.once_in(2) {
        bits = c.CPU_BIND_TO_LDOMS;
    }
    // The keyword stays beside a level's bit.
    case.cpu_bind = keyword.filter(|_| random.once_in(2)).map(str::to_owned);
    if random.once_in(6) {
        if !random.once_in(4) {
            bits = 0;
        }
        bits |= mode(case, c, random);
    }
    if random.once_in(6) {
        bits |= c.CPU_BIND_VERBOSE;
    }
    if random.once_in(6) {
        bits |= c.CPU_BIND_ONE_THREAD_PER_CORE;
    }
    case.cpu_bind_type = bits as u16;
}

fn mode(case: &mut Case, c: &Constants, random: &mut Random) -> u32 {
    let domains = matches!(case.class, Class::Ldoms(_));
    let last = if domains { 8 } else { 5 };
    let (bit, text) = match random.within(0, last) {
        0 => (c.CPU_BIND_NONE, None),
        1 => (c.CPU_BIND_RANK.unwrap_or(c.CPU_BIND_NONE), None),
        2..=3 => (c.CPU_BIND_MAP, Some(lists::map(case, random))),
        4..=5 => (c.CPU_BIND_MASK, Some(lists::masks(case, random))),
        6 => (c.CPU_BIND_LDRANK, None),
        7 => (c.CPU_BIND_LDMAP, Some(lists::domains(case, random))),
        _ => (c.CPU_BIND_LDMASK, Some(lists::domain_masks(case, random))),
    };
    case.cpu_bind = text;
    bit
}
