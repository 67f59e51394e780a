//! Requests for the comparison of berth's default: most of them aim at one fix, so that it
//! alone can claim what differs; the others are as random as elsewhere.

use slurm_sys::Layout;
use slurm_sys::layout::Constants;

use crate::allocation::Credential;
use crate::case::{Case, INFINITE, NOT_GIVEN};
use crate::conditions::{exceeds, own_slots};
use crate::generate::case;
use crate::lists;
use crate::machine::Class;
use crate::random::Random;

/// The request of a seed.
#[must_use]
pub fn aimed(seed: u64, class: Class, layout: &Layout) -> Case {
    let mut case = case(seed, class, layout);
    let (c, random) = (&layout.constants, &mut Random::new(!seed));
    if random.once_in(6) {
        return case;
    }
    calm(&mut case, c, random);
    match (class, random.once_in(2)) {
        (Class::Ldoms(_), _) => ldoms(&mut case, c, random),
        (Class::Irregular(_), _) => {}
        (_, true) => placed(&mut case, c, random),
        (_, false) => refused(&mut case, c, random),
    }
    case
}

/// Takes away what a fix could be about.
fn calm(case: &mut Case, c: &Constants, random: &mut Random) {
    case.ntasks_per_core = INFINITE;
    case.ntasks_per_socket = INFINITE;
    case.threads_per_core = NOT_GIVEN;
    case.job_core_spec = NOT_GIVEN;
    case.overcommit = false;
    case.task_dist &= !0xf00;
    case.cpu_bind = None;
    case.cpu_bind_type &= c.CPU_BIND_VERBOSE as u16;
    let levels = [
        c.CPU_BIND_TO_THREADS,
        c.CPU_BIND_TO_CORES,
        c.CPU_BIND_TO_SOCKETS,
        0,
    ];
    level(case, c, random.pick(&levels));
    fit(case, random.small(1, 3), random);
}

/// As many tasks as the step has room for, at most.
fn fit(case: &mut Case, cpus_per_task: u16, random: &mut Random) {
    let own = (own_slots(case, false).len() as u16).max(1);
    case.cpus_per_task = cpus_per_task.clamp(1, own);
    let room = own / case.cpus_per_task;
    let least = if random.once_in(2) { room } else { 1 };
    *tasks(case) = random.small(least, room);
}

fn tasks(case: &mut Case) -> &mut u16 {
    &mut case.tasks_to_launch[case.node_id as usize]
}

fn level(case: &mut Case, c: &Constants, bit: u32) {
    let all = c.CPU_BIND_TO_THREADS | c.CPU_BIND_TO_CORES | c.CPU_BIND_TO_SOCKETS;
    case.cpu_bind_type = case.cpu_bind_type & !all as u16 | bit as u16;
}

/// Fixes that place tasks on other CPUs.
fn placed(case: &mut Case, c: &Constants, random: &mut Random) {
    let threads = case.machine.threads;
    let turn = random.within(0, 5);
    level(
        case,
        c,
        if turn < 2 {
            c.CPU_BIND_TO_CORES
        } else {
            c.CPU_BIND_TO_THREADS
        },
    );
    match turn {
        0 => {
            case.task_dist = case.task_dist & !0xf0 | random.pick(&[0x10, 0x20]);
            fit(case, threads + random.small(1, threads), random);
        }
        1 => {
            case.task_dist = random.pick(&[0x31, 0x32]);
            fit(case, random.small(1, 4), random);
        }
        2 => {
            case.task_dist = case.task_dist & !0xf0 | random.pick(&[0x10, 0x30]);
            case.ntasks_per_socket = random.small(1, 3);
            fit(case, 1, random);
        }
        3 => {
            case.task_dist = random.pick(&[0x31, 0x32]);
            fit(case, random.small(2, 3), random);
            case.ntasks_per_core = random.small(2, 3);
            // As many tasks as task/affinity places within the limit.
            while case.tasks() > 1 && exceeds(case, c) {
                *tasks(case) -= 1;
            }
        }
        4 => {
            listed(case, c.CPU_BIND_MAP, lists::map(case, random) + ",1999");
            case.job_core_spec = random.small(0, 3);
        }
        _ => case.task_dist |= random.pick(&[0x100, 0x300]),
    }
}

/// Fixes that refuse, or say what became of the request.
fn refused(case: &mut Case, c: &Constants, random: &mut Random) {
    match random.within(0, 5) {
        0 => {
            level(case, c, c.CPU_BIND_TO_THREADS);
            case.cpus_per_task = 2 * case.cpus_per_task + random.small(1, 3);
        }
        1 => {
            level(case, c, c.CPU_BIND_TO_SOCKETS);
            case.overcommit = true;
            *tasks(case) = own_slots(case, false).len() as u16 + random.small(1, 3);
        }
        2 => listed(case, c.CPU_BIND_MASK, lists::masks(case, random) + ",0"),
        3 => {
            // A level would be refused by both.
            level(case, c, 0);
            case.task_plugin_param = 0;
            case.job_core_spec = 0x8000 | (case.machine.pu_count() as u16 + random.small(0, 2));
        }
        4 => {
            // More tasks than the limit has room for, in blocks; on sockets nobody is told.
            let others = random.pick(&[c.CPU_BIND_TO_THREADS, c.CPU_BIND_TO_CORES]);
            level(case, c, random.pick(&[c.CPU_BIND_TO_SOCKETS, others]));
            case.task_dist = random.pick(&[0x21, 0x22]);
            case.ntasks_per_socket = random.small(1, 3);
            fit(case, 1, random);
        }
        _ => {
            level(case, c, c.CPU_BIND_TO_SOCKETS);
            case.machine.misconfigure(random);
            fit(case, 1, random);
        }
    }
}

fn listed(case: &mut Case, mode: u32, list: String) {
    case.cpu_bind_type = mode as u16;
    case.cpu_bind = Some(list);
}

fn ldoms(case: &mut Case, c: &Constants, random: &mut Random) {
    let turn = random.within(0, 4);
    if turn < 2 {
        level(case, c, 0);
        case.cpu_bind_type |= c.CPU_BIND_TO_LDOMS as u16;
        return;
    }
    case.cred = Credential::whole(&case.machine);
    match turn {
        2..=3 => listed(case, c.CPU_BIND_LDMAP, lists::domains(case, random)),
        _ => listed(case, c.CPU_BIND_LDMASK, lists::domain_masks(case, random)),
    }
}
