//! Both objects side by side on one machine: microseconds a call of the launch hook, and of
//! slurmstepd's hooks for all tasks of a step. The two sides take turns, each call on records of
//! its own, so that a machine's bad moments fall on both.

use std::fmt;
use std::time::Duration;

use crate::case::Case;
use crate::child::Pair;
use crate::machine::Machine;
use crate::message::{JobOption, Message};
use crate::object::Hook;
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

/// One line of the table.
#[derive(Clone, Debug)]
pub struct Row {
    /// What was asked.
    pub case: &'static str,
    /// Tasks; in the case `one-core` the machine's CPUs.
    pub size: u16,
    /// The times beside which ours stand: task/affinity's, or for an option of berth's own those of
    /// berth itself with `--cpu-bind=cores`.
    pub theirs: Times,
    /// task/berth's times.
    pub ours: Times,
}

/// Of many calls.
#[derive(Clone, Copy, Debug)]
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

/// `case tasks theirs-least theirs-middle ours-least ours-middle`
impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (theirs, ours) = (self.theirs, self.ours);
        write!(
            f,
            "{} {} {} {} {} {}",
            self.case, self.size, theirs.least, theirs.middle, ours.least, ours.middle
        )
    }
}

impl Row {
    /// A row as [`fmt::Display`] writes it.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let case = CASES
            .into_iter()
            .find(|name| words.clone().next() == Some(name))?;
        words.next();
        let size = words.next()?.parse().ok()?;
        let mut number = || words.next()?.parse().ok();
        let mut times = || {
            Some(Times {
                least: number()?,
                middle: number()?,
            })
        };
        Some(Self {
            case,
            size,
            theirs: times()?,
            ours: times()?,
        })
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

/// The same with its caches, in hwloc's words.
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

/// The cases on the machine of a size: one, or all that it has. `pid`: a process that may be bound.
///
/// # Panics
/// Where a hook refuses its request.
#[must_use]
pub fn rows(pair: &Pair, cpus: u16, only: Option<&str>, pid: i32) -> Vec<Row> {
    let wanted = CASES
        .into_iter()
        .filter(|case| only.is_none_or(|only| only == *case));
    wanted
        .filter_map(|name| row(pair, name, cpus, pid))
        .collect()
}

/// A case, if masks of this size can be measured in it.
fn row(pair: &Pair, name: &'static str, cpus: u16, pid: i32) -> Option<Row> {
    if let Some((option, value)) = name.split_once('=') {
        return own(pair, (name, option, value), cpus);
    }
    let c = &pair.slurm.layout.constants;
    let (threads, cores) = (c.CPU_BIND_TO_THREADS as u16, c.CPU_BIND_TO_CORES as u16);
    let (asked, list) = match name {
        _ if cpus > MOST_FOR_BOTH => return None,
        "threads" => ((cpus, 1, threads), None),
        "cores" => ((cpus / 2, 1, cores), None),
        "-c2" => ((cpus / 2, 2, threads), None),
        "one-core" => return Some(one_core(pair, name, cpus, threads)),
        _ if cpus > MOST_IN_MASK => return None,
        "mask_cpu" => ((cpus, 1, c.CPU_BIND_MASK as u16), Some(masks(cpus, cpus))),
        _ => return Some(tasks(pair, name, cpus, pid)),
    };
    Some(launch(pair, name, &message(pair, cpus, asked, list)))
}

/// An option of berth's own beside `--cpu-bind=cores`: a task for each core, or for four with `pe=4`.
fn own(pair: &Pair, (name, option, value): (&'static str, &str, &str), cpus: u16) -> Option<Row> {
    let cores = pair.slurm.layout.constants.CPU_BIND_TO_CORES as u16;
    let each = if value.ends_with("pe=4") { 4 } else { 1 };
    let machine = machine(cpus);
    if machine.cores < each {
        return None;
    }
    let tasks = machine.core_count() as u16 / each;
    let threads = match each {
        1 => 1,
        each => each * machine.threads,
    };
    let by_level = message(pair, cpus, (tasks, threads, cores), None);
    // Inside a cpuset the level decides; the other options decide themselves.
    let by_option = match option {
        "cpuset" => (tasks, threads, cores),
        _ => (tasks, 1, 0),
    };
    let mut by_option = message(pair, cpus, by_option, None);
    by_option.options.push(JobOption::of_berth(option, value));
    let (theirs, ours) = in_turn(
        CALLS.1,
        || once(pair, pair.ours, name, &by_level),
        || once(pair, pair.ours, name, &by_option),
    );
    Some(Row {
        case: name,
        size: tasks,
        theirs,
        ours,
    })
}

/// A task for each hardware thread of the machine's last core, which is all that the step owns.
fn one_core(pair: &Pair, name: &'static str, cpus: u16, asked: u16) -> Row {
    let mut message = message(pair, cpus, (machine(cpus).threads, 1, asked), None);
    let case = &mut message.case;
    if let Some((_, others)) = case.cred.step_cores.split_last_mut() {
        others.fill(false);
    }
    message.node_cpus = case.node_cpus();
    let size = cpus;
    Row {
        size,
        ..launch(pair, name, &message)
    }
}

/// A mask of one CPU for each of so many tasks, as wide as the machine; after `last` it begins anew.
fn masks(cpus: u16, last: u16) -> String {
    let digits = usize::from(cpus).div_ceil(4);
    let mask = |cpu: u16| {
        let mut digits = vec![0u8; digits];
        let units = digits.len() - 1;
        digits[units - usize::from(cpu / 4)] |= 1 << (cpu % 4);
        let digits = digits.into_iter().map(|digit| format!("{digit:X}"));
        format!("0x{}", digits.collect::<String>())
    };
    (0..cpus)
        .map(|task| mask(task % last))
        .collect::<Vec<_>>()
        .join(",")
}

/// A launch of so many tasks with so many CPUs each, bound in this way, by a usual srun.
fn message(pair: &Pair, cpus: u16, asked: (u16, u16, u16), list: Option<String>) -> Message {
    let (tasks, cpus_per_task, cpu_bind_type) = asked;
    let c = &pair.slurm.layout.constants;
    let case = Case {
        cpus_per_task,
        cpu_bind_type,
        cpu_bind: list,
        ..Case::plain(machine(cpus), tasks, c)
    };
    let variable = |at| format!("SLURM_VARIABLE_{at}=a value of common length").into_bytes();
    Message {
        env: (0..VARIABLES).map(variable).collect(),
        ..Message::of(case, c)
    }
}

fn calls(size: u16) -> usize {
    (BUDGET / usize::from(size)).clamp(CALLS.0, CALLS.1)
}

/// The two sides in turn.
fn in_turn(
    calls: usize,
    mut theirs: impl FnMut() -> Duration,
    mut ours: impl FnMut() -> Duration,
) -> (Times, Times) {
    let pairs: (Vec<_>, Vec<_>) = (0..calls).map(|_| (theirs(), ours())).unzip();
    (Times::of(pairs.0), Times::of(pairs.1))
}

/// One launch.
fn once(pair: &Pair, hook: Hook, name: &str, message: &Message) -> Duration {
    let mut launch = Launch::new(message, pair.slurm);
    // SAFETY: a launch hook of an object for the running release.
    let (rc, time) = unsafe { launch.time(hook) };
    assert_eq!(rc, 0, "{name}: {message}");
    time
}

/// Both launch hooks with a message.
fn launch(pair: &Pair, name: &'static str, message: &Message) -> Row {
    let (theirs, ours) = in_turn(
        calls(message.case.machine.pu_count() as u16),
        || once(pair, pair.theirs, name, message),
        || once(pair, pair.ours, name, message),
    );
    Row {
        case: name,
        size: message.case.tasks(),
        theirs,
        ours,
    }
}

/// slurmstepd's side, for a list of one CPU for each task. Both launch hooks leave such a list as
/// it is; ours adds what its own slurmstepd reads.
fn tasks(pair: &Pair, name: &'static str, cpus: u16, pid: i32) -> Row {
    // CPUs that the kernel has: of a mask that it cuts we would tell the user, at every call.
    let real = std::thread::available_parallelism().map_or(1, |real| real.get() as u16);
    let list = masks(cpus, real);
    let asked = pair.slurm.layout.constants.CPU_BIND_MASK as u16;
    let mut message = message(pair, cpus, (cpus, 1, asked), Some(list));
    message.env.clear();
    let once = |hook, hooks| {
        let mut slurmd = Launch::new(&message, pair.slurm);
        // SAFETY: the hooks of an object for the running release.
        let (refused, _) = unsafe { slurmd.time(hook) };
        let mut step = Step::new(&mut slurmd, &message.case, pid);
        // SAFETY: the same.
        let (rc, time) = unsafe { step.time(hooks, &mut slurmd) };
        assert_eq!((refused, rc), (0, 0), "{name}: {cpus} tasks");
        time
    };
    let (theirs, ours) = in_turn(
        calls(cpus),
        || once(pair.theirs, pair.their_step),
        || once(pair.ours, pair.our_step),
    );
    Row {
        case: name,
        size: cpus,
        theirs,
        ours,
    }
}
