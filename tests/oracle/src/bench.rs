//! Both objects side by side on one machine: microseconds a call of the launch hook, and of
//! slurmstepd's hooks for all tasks of a step. The two sides take turns, each call on records of
//! its own, so that a machine's bad moments fall on both.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::case::Case;
use crate::lists;
use crate::machine::Machine;
use crate::message::{JobOption, Message, Text};
use crate::object::Hooks;
use crate::pair::Pair;
use crate::slurmd::Launch;
use crate::stepd::Step;

/// Variables of a task's environment, as a user's srun sends them.
const VARIABLES: u32 = 100;
/// task/affinity of 22.05 has masks of 1024 CPUs, and of a mask's text it reads 256 characters,
/// of which `0x` are two.
const MOST_IN_MASK: u16 = 512;
/// Calls of each side: as many as a budget allows, within these.
const CALLS: (usize, usize) = (31, 301);
/// CPUs × calls that are affordable.
const BUDGET: usize = 50_000;

/// One line of the table; it comes from its process as JSON.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Row {
    /// The case.
    pub case: String,
    /// Tasks; in the case `one-core` the machine's CPUs.
    pub size: u16,
    /// The times beside which ours stand: task/affinity's, or for an option of berth's own those of
    /// berth itself with `--cpu-bind=cores`.
    pub theirs: Times,
    /// task/berth's times.
    pub ours: Times,
}

/// Of many calls.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Times {
    /// The fastest, in microseconds.
    pub least: f64,
    /// The one in the middle, in microseconds.
    pub middle: f64,
}

impl Times {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let micros = |at: usize| times[at].as_secs_f64() * 1e6;
        Self {
            least: micros(0),
            middle: micros(times.len() / 2),
        }
    }
}

/// The cases, by the srun options that they stand for. In `one-core` the step owns only the last
/// core of the machine. Those with `=` are options of berth's own.
pub const CASES: [&str; 11] = [
    "threads",
    "cores",
    "-c2",
    "one-core",
    "mask_cpu",
    "stepd",
    "binding=auto",
    "binding=linear:1",
    "map-by=l3cache:pe=4",
    "near=gpu",
    "cpuset=CPUSET_TYPE=dynamic",
];

/// Whether a case is an option that only berth has. It stands beside `--cpu-bind=cores` with as many
/// CPUs for each task.
#[must_use]
pub fn is_own(case: &str) -> bool {
    case.contains('=')
}

/// Larger machines are only for berth's own options.
const MOST_FOR_BOTH: u16 = 2048;
/// Cores of a socket that share an L3 cache, where it has more.
const CORES_OF_L3: u16 = 8;

/// The machine of a size: two hardware threads a core and two sockets, where there is room.
#[must_use]
pub fn machine(cpus: u16) -> Machine {
    match cpus {
        2 => Machine::regular(1, 2, 1),
        4 => Machine::regular(1, 2, 2),
        _ => Machine::regular(2, cpus / 4, 2),
    }
}

/// The machine of a size with its caches, in hwloc's words.
#[must_use]
pub fn synthetic(cpus: u16) -> String {
    let Machine {
        sockets,
        cores,
        threads,
        ..
    } = machine(cpus);
    let caches = cores.div_ceil(CORES_OF_L3);
    let each = cores / caches;
    format!("pack:{sockets} [numa] l3:{caches} core:{each} pu:{threads}")
}

/// At most so many GPUs.
const GPUS: usize = 8;

/// A machine's XML of hwloc, with a GPU next to each of its first L3 caches. A synthetic machine has no
/// devices.
#[must_use]
pub fn with_gpus(xml: &str) -> String {
    let (mut text, mut gpus) = (String::with_capacity(xml.len()), 0);
    let mut open: Option<&str> = None;
    for line in xml.lines() {
        let before = &line[..line.len() - line.trim_start().len()];
        if line.contains("type=\"L3Cache\"") && gpus < GPUS {
            open = Some(before);
        }
        if open == Some(before) && line.ends_with("</object>") {
            text.push_str(&gpu(gpus));
            gpus += 1;
            open = None;
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}

fn gpu(number: usize) -> String {
    let (bus, id) = (number + 1, 1_000_000 + 2 * number);
    format!(
        "<object type=\"Bridge\" gp_index=\"{id}\" bridge_type=\"0-1\" depth=\"0\" \
         bridge_pci=\"0000:[{bus:02x}-{bus:02x}]\"><object type=\"PCIDev\" gp_index=\"{}\" \
         pci_busid=\"0000:{bus:02x}:00.0\" pci_type=\"0302 [10de:2330] [10de:16c1] a1\" \
         pci_link_speed=\"0.000000\"/></object>\n",
        id + 1
    )
}

/// A case on the machine of a size, where it can be measured. `pid`: a process that may be bound.
///
/// # Panics
/// Where a hook refuses its request.
#[must_use]
pub fn row(pair: &Pair, name: &str, cpus: u16, pid: i32) -> Option<Row> {
    if let Some((option, value)) = name.split_once('=') {
        return own(pair, name, &JobOption::of_berth(option, value), cpus);
    }
    let c = pair.constants();
    let is_listed = matches!(name, "mask_cpu" | "stepd");
    let most = if is_listed {
        MOST_IN_MASK
    } else {
        MOST_FOR_BOTH
    };
    if cpus > most {
        return None;
    }
    let tasks = match name {
        "cores" => Tasks(cpus / 2, 1, c.CPU_BIND_TO_CORES),
        "-c2" => Tasks(cpus / 2, 2, c.CPU_BIND_TO_THREADS),
        "one-core" => Tasks(machine(cpus).threads, 1, c.CPU_BIND_TO_THREADS),
        "threads" => Tasks(cpus, 1, c.CPU_BIND_TO_THREADS),
        _ => Tasks(cpus, 1, c.CPU_BIND_MASK),
    };
    let mut message = message(pair, cpus, tasks);
    match name {
        "one-core" => own_last_core(&mut message),
        "mask_cpu" => message.cpu_bind = Some(masks(cpus, cpus)),
        "stepd" => {
            // CPUs that the kernel has: of a mask that it cuts we would tell the user, at every call.
            let real = std::thread::available_parallelism().map_or(1, |real| real.get() as u16);
            message.cpu_bind = Some(masks(cpus, real));
            message.env.clear();
        }
        _ => {}
    }
    let size = if name == "one-core" { cpus } else { tasks.0 };
    let calls = (BUDGET / usize::from(cpus)).clamp(CALLS.0, CALLS.1);
    let pid = (name == "stepd").then_some(pid);
    let once = |hooks| once(pair, hooks, &message, pid);
    Some(in_turn(
        name,
        size,
        calls,
        || once(pair.theirs),
        || once(pair.ours),
    ))
}

/// An option of berth's own beside `--cpu-bind=cores`: a task for each core, or for four with `pe=4`.
fn own(pair: &Pair, name: &str, option: &JobOption, cpus: u16) -> Option<Row> {
    let cores = pair.constants().CPU_BIND_TO_CORES;
    let each = if name.ends_with("pe=4") { 4 } else { 1 };
    let machine = machine(cpus);
    if machine.cores < each {
        return None;
    }
    let tasks = machine.core_count() as u16 / each;
    let threads = match each {
        1 => 1,
        each => each * machine.threads,
    };
    let by_level = Tasks(tasks, threads, cores);
    // Inside a cpuset the level decides; the other options decide themselves.
    let by_option = match name.starts_with("cpuset") {
        true => by_level,
        false => Tasks(tasks, 1, 0),
    };
    let by_level = message(pair, cpus, by_level);
    let mut by_option = message(pair, cpus, by_option);
    by_option.options.push(option.clone());
    let once = |message: &Message| once(pair, pair.ours, message, None);
    Some(in_turn(
        name,
        tasks,
        CALLS.1,
        || once(&by_level),
        || once(&by_option),
    ))
}

/// All that the step owns is the machine's last core.
fn own_last_core(message: &mut Message) {
    let case = &mut message.case;
    if let Some((_, others)) = case.cred.step_cores.split_last_mut() {
        others.fill(false);
    }
    message.node_cpus = case.node_cpus();
}

/// A mask of one CPU for each of so many tasks, as wide as the machine; after `last` it begins anew.
fn masks(cpus: u16, last: u16) -> Text {
    let width = usize::from(cpus).div_ceil(4);
    let mask = |cpu: u16| format!("0x{:0>width$}", lists::hexadecimal(&[cpu.into()]));
    let masks: Vec<_> = (0..cpus).map(|task| mask(task % last)).collect();
    Text::of(&masks.join(","))
}

/// So many tasks with so many CPUs each, bound to a level.
#[derive(Clone, Copy)]
struct Tasks(u16, u16, u32);

/// Their launch by a usual srun.
fn message(pair: &Pair, cpus: u16, tasks: Tasks) -> Message {
    let Tasks(tasks, cpus_per_task, level) = tasks;
    let c = pair.constants();
    let case = Case {
        cpus_per_task,
        cpu_bind_type: level as u16,
        ..Case::plain(machine(cpus), tasks, c)
    };
    let variable = |at| Text::of(&format!("SLURM_VARIABLE_{at}=a value of common length"));
    Message {
        env: (0..VARIABLES).map(variable).collect(),
        ..Message::of(case, c)
    }
}

/// The two sides in turn.
fn in_turn(
    case: &str,
    size: u16,
    calls: usize,
    theirs: impl Fn() -> Duration,
    ours: impl Fn() -> Duration,
) -> Row {
    let times: (Vec<_>, Vec<_>) = (0..calls).map(|_| (theirs(), ours())).unzip();
    Row {
        case: case.into(),
        size,
        theirs: Times::of(times.0),
        ours: Times::of(times.1),
    }
}

/// One launch; with a process the side of slurmstepd for all of its tasks. Both launch hooks leave a list of one CPU for
/// each task as it is; ours adds what its own slurmstepd reads.
fn once(pair: &Pair, hooks: Hooks, message: &Message, pid: Option<i32>) -> Duration {
    let mut launch = Launch::new(message, pair.slurm);
    // SAFETY: a launch hook of an object for the running release.
    let called = unsafe { launch.call(hooks.launch) };
    assert_eq!(called.rc, 0, "{message:?}");
    let Some(pid) = pid else { return called.time };
    let mut step = Step::new(&mut launch, &message.case, pid);
    // SAFETY: slurmstepd's hooks of the same object.
    let (rc, time) = unsafe { step.time(hooks, message.case.tasks().into(), &mut launch) };
    assert_eq!(rc, 0, "{message:?}");
    time
}
