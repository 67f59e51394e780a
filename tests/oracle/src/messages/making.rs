//! A message from a seed: a random request, most of them with some of its fields exchanged.

use slurm_sys::Layout;

use crate::generate::case;
use crate::machine::Class;
use crate::message::{Kind, Message, Text};
use crate::messages::{environment, text};
use crate::random::Random;

/// More than node lists can have.
const MOST_NODES: u32 = 300_000;

/// The message of a seed.
#[must_use]
pub fn message(seed: u64, class: Class, layout: &Layout) -> Message {
    let random = &mut Random::new(seed.rotate_left(32));
    let mut message = plain(seed, class, layout);
    if random.once_in(5) {
        message.kind = Kind::Batch;
        message.step[1] = layout.constants.SLURM_BATCH_SCRIPT;
        if random.once_in(2) {
            message.env = environment::of_script(random);
        }
    }
    for _ in 0..random.within(0, 5) {
        change(&mut message, random);
    }
    message
}

/// A message as srun would send it.
#[must_use]
pub fn plain(seed: u64, class: Class, layout: &Layout) -> Message {
    let mut message = Message::of(case(seed, class, layout), &layout.constants);
    message.step[1] = (seed % 5) as u32;
    message.nodes = Some(Text::of(&message.case.cred.hosts));
    message
}

fn change(message: &mut Message, random: &mut Random) {
    match random.within(0, 15) {
        0..=2 => cpu_bind(message, random),
        3..=4 => mem_bind(message, random),
        5 => message.case.task_dist = random.number() as u32,
        6 => message.flags = random.number() as u32,
        7..=8 => limits(message, random),
        9 => tasks(message, random),
        10 => nodes(message, random),
        11..=12 => message.options = environment::options(random),
        13 => message.env.extend(environment::variables(random)),
        14 => step(message, random),
        _ => {
            let own = message.case.cred.hosts.clone();
            message.nodes = Some(Text(text::nodes(&own, random))).filter(|_| !random.once_in(5));
            message.tres_bind = Some(Text(text::garbage(random)));
            message.accel_bind_type = random.number() as u16;
        }
    }
}

/// The bits of every list, and any.
fn cpu_bind(message: &mut Message, random: &mut Random) {
    let right = message.cpu_bind.take();
    let right = right.and_then(|text| String::from_utf8(text.0).ok());
    let right = right.or_else(|| {
        let list = random.pick(&[crate::lists::map, crate::lists::masks]);
        Some(list(&message.case, random))
    });
    message.cpu_bind = text::binding(right.as_deref(), random).map(Text);
    message.case.cpu_bind_type = match random.within(0, 9) {
        0 => random.number() as u16,
        1 => message.case.cpu_bind_type,
        // Maps and masks of CPUs and of memory domains.
        2..=8 => random.pick(&[0x80, 0x100, 0x100, 0x400, 0x800]),
        _ => 1 << random.within(0, 15),
    };
}

fn mem_bind(message: &mut Message, random: &mut Random) {
    message.mem_bind = text::binding(Some("0x1,0x1"), random).map(Text);
    message.mem_bind_type = match random.within(0, 3) {
        0 => random.number() as u16,
        // Maps and masks, with sort and prefer.
        _ => random.pick(&[8, 16]) | random.pick(&[0, 0x40, 0x80]),
    };
}

fn limits(message: &mut Message, random: &mut Random) {
    let value = match random.within(0, 3) {
        0 => random.pick(&[0, 1, 0xffff, 0xfffe, 0x7fff, 0x8000]),
        _ => random.number() as u16,
    };
    let case = &mut message.case;
    match random.within(0, 5) {
        0 => case.cpus_per_task = value,
        1 => case.threads_per_core = value,
        2 => case.ntasks_per_core = value,
        3 => case.ntasks_per_socket = value,
        4 => case.job_core_spec = value,
        _ => message.node_cpus = value,
    }
}

/// More tasks of this node, other numbers for them, another sum.
fn tasks(message: &mut Message, random: &mut Random) {
    let count = match random.within(0, 19) {
        0 => 65_535,
        1 => random.within(1000, 65_535),
        2 => 0,
        _ => random.within(1, 300),
    };
    let first = if random.once_in(4) {
        random.number() as u32
    } else {
        0
    };
    let node = random.within(0, message.ids.len() as u32 - 1) as usize;
    message.ids[node] = (0..count).map(|task| first.wrapping_add(task)).collect();
    message.tasks = match random.within(0, 3) {
        0 => random.number() as u32,
        1 => count,
        _ => message.ids.iter().map(|list| list.len() as u32).sum(),
    };
}

/// More nodes or fewer, and this one among them or beside them.
fn nodes(message: &mut Message, random: &mut Random) {
    let count = match random.within(0, 49) {
        0 => random.within(1000, MOST_NODES),
        1..=10 => random.within(1, 3),
        _ => message.ids.len() as u32,
    };
    message.ids.resize(count as usize, Vec::new());
    if random.once_in(2) {
        message.node_id = match random.within(0, 2) {
            0 => u32::MAX,
            1 => random.number() as u32,
            _ => random.within(0, count),
        };
    }
}

/// Another step.
fn step(message: &mut Message, random: &mut Random) {
    message.step[0] = random.within(1, 40);
    if message.kind == Kind::Tasks {
        message.step[1] = match random.within(0, 5) {
            // Slurm's own kinds of steps, from the highest number down.
            0 => u32::MAX - random.within(0, 6),
            _ => random.within(0, 40),
        };
        if random.once_in(4) {
            message.step[2] = random.within(0, 3);
        }
    }
}
