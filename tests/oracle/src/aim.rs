//! Requests for the comparison of berth's default: most of them aim at one fix, so that it
//! alone can claim what differs; the others are as random as elsewhere.

use slurm_sys::Layout;

use crate::allocation::Credential;
use crate::case::{Case, INFINITE, NOT_GIVEN};
use crate::conditions::{exceeds, modes, own_slots};
use crate::generate::case;
use crate::lists;
use crate::machine::Class;
use crate::random::Random;

/// The request of a seed.
#[must_use]
pub fn aimed(seed: u64, class: Class, layout: &Layout) -> Case {
    let mut case = case(seed, class, layout);
    let random = &mut Random::new(!seed);
    if random.once_in(6) {
        return case;
    }
    calm(&mut case, layout, random);
    match class {
        Class::Ldoms(_) => ldoms(&mut case, layout, random),
        Class::Irregular(_) => {}
        Class::Threads | Class::Cores => one(&mut case, layout, random),
    }
    case
}

/// Takes away what a fix could be about.
fn calm(case: &mut Case, layout: &Layout, random: &mut Random) {
    let c = &layout.constants;
    case.ntasks_per_core = INFINITE;
    case.ntasks_per_socket = INFINITE;
    case.threads_per_core = NOT_GIVEN;
    case.job_core_spec = NOT_GIVEN;
    case.overcommit = false;
    case.task_dist &= !0xf00;
    case.cpu_bind = None;
    let levels = [
        c.CPU_BIND_TO_THREADS,
        c.CPU_BIND_TO_CORES,
        c.CPU_BIND_TO_SOCKETS,
        0,
    ];
    case.cpu_bind_type &= !(modes(c) | c.CPU_BIND_ONE_THREAD_PER_CORE | c.CPU_BIND_TO_LDOMS) as u16;
    for bit in levels {
        case.cpu_bind_type &= !bit as u16;
    }
    case.cpu_bind_type |= random.pick(&levels) as u16;
    fit(case, random.small(1, 3), random);
}

/// As many tasks as the step has room for, at most.
fn fit(case: &mut Case, cpus_per_task: u16, random: &mut Random) {
    let own = (own_slots(case, false).len() as u16).max(1);
    let each = cpus_per_task.clamp(1, own);
    let tasks = if random.once_in(2) {
        own / each
    } else {
        random.small(1, own / each)
    };
    case.cpus_per_task = each;
    case.tasks_to_launch[case.node_id as usize] = tasks;
}

/// As many tasks as task/affinity places within the limits.
fn keep_limits(case: &mut Case, layout: &Layout) {
    while case.tasks() > 1 && exceeds(case, &layout.constants) {
        case.tasks_to_launch[case.node_id as usize] -= 1;
    }
}

fn level(case: &mut Case, layout: &Layout, bit: u32) {
    let c = &layout.constants;
    let all = c.CPU_BIND_TO_THREADS | c.CPU_BIND_TO_CORES | c.CPU_BIND_TO_SOCKETS;
    case.cpu_bind_type = case.cpu_bind_type & !all as u16 | bit as u16;
}

fn one(case: &mut Case, layout: &Layout, random: &mut Random) {
    let c = &layout.constants;
    let threads = case.machine.threads;
    match random.within(0, 11) {
        turn @ 6.. => more(turn, case, layout, random),
        0 => {
            level(case, layout, c.CPU_BIND_TO_CORES);
            case.task_dist = case.task_dist & !0xf0 | random.pick(&[0x10, 0x20]);
            fit(case, threads + random.small(1, threads), random);
        }
        1 => {
            level(case, layout, c.CPU_BIND_TO_CORES);
            case.task_dist = random.pick(&[0x31, 0x32]);
            fit(case, random.small(1, 4), random);
        }
        2 => {
            level(case, layout, c.CPU_BIND_TO_THREADS);
            case.task_dist = case.task_dist & !0xf0 | random.pick(&[0x10, 0x30]);
            case.ntasks_per_socket = random.small(1, 3);
            fit(case, 1, random);
        }
        3 => {
            level(case, layout, c.CPU_BIND_TO_THREADS);
            case.task_dist = random.pick(&[0x31, 0x32]);
            fit(case, random.small(2, 3), random);
            case.ntasks_per_core = random.small(2, 3);
            keep_limits(case, layout);
        }
        4 => {
            listed(case, c.CPU_BIND_MAP, random.small(0, 3), lists::map, random);
            case.cpu_bind = case.cpu_bind.take().map(|list| list + ",1999");
        }
        _ => {
            level(case, layout, c.CPU_BIND_TO_THREADS);
            case.task_dist |= random.pick(&[0x100, 0x300]);
        }
    }
}

fn more(turn: u32, case: &mut Case, layout: &Layout, random: &mut Random) {
    let c = &layout.constants;
    match turn {
        6 => {
            level(case, layout, c.CPU_BIND_TO_THREADS);
            case.cpus_per_task = 2 * case.cpus_per_task + random.small(1, 3);
        }
        7 => {
            level(case, layout, c.CPU_BIND_TO_SOCKETS);
            case.overcommit = true;
            let own = own_slots(case, false).len() as u16;
            case.tasks_to_launch[case.node_id as usize] = own + random.small(1, 3);
        }
        8 => {
            listed(case, c.CPU_BIND_MASK, NOT_GIVEN, lists::masks, random);
            case.cpu_bind = case.cpu_bind.take().map(|list| list + ",0");
        }
        9 => {
            // A level would be refused by both.
            level(case, layout, 0);
            case.task_plugin_param = 0;
            case.job_core_spec = 0x8000 | (case.machine.pu_count() as u16 + random.small(0, 2));
        }
        10 => {
            // More tasks than the limit has room for, in blocks; on sockets nobody is told.
            let levels = [c.CPU_BIND_TO_SOCKETS, c.CPU_BIND_TO_SOCKETS];
            let of = [levels, [c.CPU_BIND_TO_THREADS, c.CPU_BIND_TO_CORES]].concat();
            level(case, layout, random.pick(&of));
            case.task_dist = random.pick(&[0x21, 0x22]);
            case.ntasks_per_socket = random.small(1, 3);
            fit(case, 1, random);
        }
        _ => {
            level(case, layout, c.CPU_BIND_TO_SOCKETS);
            case.machine.misconfigure(random);
            fit(case, 1, random);
        }
    }
}

fn listed(
    case: &mut Case,
    mode: u32,
    core_spec: u16,
    list: fn(&Case, &mut Random) -> String,
    random: &mut Random,
) {
    case.cpu_bind_type = mode as u16;
    case.cpu_bind = Some(list(case, random));
    case.job_core_spec = core_spec;
}

fn ldoms(case: &mut Case, layout: &Layout, random: &mut Random) {
    let c = &layout.constants;
    match random.within(0, 4) {
        0..=1 => {
            level(case, layout, 0);
            case.cpu_bind_type |= c.CPU_BIND_TO_LDOMS as u16;
        }
        2..=3 => {
            case.cred = Credential::whole(&case.machine);
            listed(case, c.CPU_BIND_LDMAP, NOT_GIVEN, lists::domains, random);
        }
        _ => {
            case.cred = Credential::whole(&case.machine);
            listed(
                case,
                c.CPU_BIND_LDMASK,
                NOT_GIVEN,
                lists::domain_masks,
                random,
            );
        }
    }
}
