//! Environments and SPANK options of a message.

use crate::message::{JobOption, Text};
use crate::messages::text;
use crate::options::SPANK;
use crate::random::Random;

/// How a batch script's environment carries the options of berth.
const OF_SCRIPT: [&str; 3] = [
    "_SLURM_SPANK_OPTION_berth_binding",
    "_SLURM_SPANK_OPTION_berth_berth_binding",
    "SLURM_SPANK__SLURM_SPANK_OPTION_berth_binding",
];

/// Names that stand for requests, for what slurmd leaves to slurmstepd, and for neither.
const NAMES: &str = "BERTH_BINDING BERTH_BIND_TO BERTH_BOUND BERTH_CHOSEN BERTH_CONFINE BERTH_CORE_KIND BERTH_CPUSET \
    BERTH_HANDOVER BERTH_INHERITED BERTH_MAP_BY BERTH_MEMORY BERTH_NEAR BERTH_NOTE BERTH_NOTES BERTH_PLAN BERTH_POOL \
    BERTH_RANK_BY BERTH_REQUEST BERTH_RULE BERTH_STATE_DIR SLURM_CPU_BIND SLURM_CPU_BIND_LIST SLURM_CPU_BIND_TYPE \
    SLURM_JOB_ID SLURM_SPANK__SLURM_SPANK_OPTION_berth_berth_overlap";

/// Names behind which a number of tasks stands.
const COUNTS: [&str; 4] = [
    "SLURM_NTASKS",
    "SLURM_NPROCS",
    "SLURM_NTASKS_PER_NODE",
    "SLURM_CPUS_PER_TASK",
];

fn name(random: &mut Random) -> &'static str {
    let names: Vec<_> = NAMES.split(' ').collect();
    random.pick(&names)
}

fn entry(name: &str, value: &[u8]) -> Text {
    Text([name.as_bytes(), b"=", value].concat())
}

/// `SLURM_TASKS_PER_NODE`
fn tasks_per_node(random: &mut Random) -> Vec<u8> {
    let part = |random: &mut Random| {
        let (tasks, nodes) = (text::number(random), text::number(random));
        match random.within(0, 2) {
            0 => tasks,
            1 => format!("1(x{nodes})"),
            _ => format!("{tasks}(x{nodes})"),
        }
    };
    let count = match random.once_in(20) {
        true => text::length(random) / 8,
        false => random.within(1, 4),
    };
    let parts: Vec<_> = (0..count).map(|_| part(random)).collect();
    let right = parts.join(",").into_bytes();
    match random.once_in(5) {
        true => text::damaged(&right, random),
        false => right,
    }
}

fn value(random: &mut Random) -> Vec<u8> {
    match random.within(0, 4) {
        0 => text::garbage(random),
        1 => text::number(random).into_bytes(),
        2 => text::binding(None, random).unwrap_or_default(),
        _ => text::request(random),
    }
}

fn any(random: &mut Random) -> Text {
    match random.within(0, 9) {
        0 => Text(text::garbage(random)),
        1 => Text::of(random.pick(&["", "="])),
        2 => Text::of(name(random)),
        3..=4 => entry(random.pick(&COUNTS), text::number(random).as_bytes()),
        5 => entry("SLURM_TASKS_PER_NODE", &tasks_per_node(random)),
        6 => entry(random.pick(&OF_SCRIPT), &text::request(random)),
        _ => entry(name(random), &value(random)),
    }
}

/// An environment.
pub fn variables(random: &mut Random) -> Vec<Text> {
    let count = match random.within(0, 199) {
        0 => text::length(random) / 8,
        1..=60 => 0,
        _ => random.within(1, 12),
    };
    // Many of them alike: it is their number that counts then.
    let mut env: Vec<_> = (0..count.min(200)).map(|_| any(random)).collect();
    let more = count.saturating_sub(200);
    env.extend((0..more).map(|at| Text::of(&format!("VARIABLE_{at}=1"))));
    env
}

/// A batch script's environment: a request, and how many tasks.
pub fn of_script(random: &mut Random) -> Vec<Text> {
    let mut env = vec![
        entry(random.pick(&OF_SCRIPT), &text::request(random)),
        entry("SLURM_NTASKS", text::number(random).as_bytes()),
    ];
    if random.once_in(2) {
        env.push(entry("SLURM_TASKS_PER_NODE", &tasks_per_node(random)));
    }
    env
}

/// SPANK options.
pub fn options(random: &mut Random) -> Vec<JobOption> {
    let count = match random.within(0, 99) {
        0 => random.within(5, 6000),
        1..=49 => 0,
        _ => random.within(1, 3),
    };
    let one = |random: &mut Random| JobOption {
        kind: match random.once_in(20) {
            true => random.number() as i32,
            false => SPANK,
        },
        option: match random.within(0, 9) {
            0 => Text(text::garbage(random)),
            1 => Text::of("berth-overlap:berth"),
            2 => Text::of("berth-binding:berth"),
            3 => Text::of("binding"),
            _ => Text::of("binding:berth"),
        },
        argument: (!random.once_in(15)).then(|| Text(text::request(random))),
    };
    (0..count).map(|_| one(random)).collect()
}
