//! The launch hook alone: a process calls it for launches of several kinds, between two marks, and
//! another one follows that process and notes what it asks of the kernel between them.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

use slurm_sys::layout::Constants;

use crate::allocation::Credential;
use crate::calls::tracer::{follow, start};
use crate::calls::words::words;
use crate::case::Case;
use crate::fuzz::message::{JobOption, Kind, Message};
use crate::fuzz::record::Tasks;
use crate::machine::{Class, Machine};
use crate::object::{Log, Object, set_log, slurm};

/// The kinds of launches.
pub const KINDS: [&str; 5] = ["plain", "list", "refused", "overcommit", "binding"];
/// The first launches of a process may ask for more.
const FIRST: u32 = 5;
/// `getpriority` for nobody's priorities: what is between these two is a launch.
const MARKS: [u64; 2] = [0x6265_0001, 0x6265_0002];
/// Jobs in turn.
const JOBS: u32 = 5;

/// What the calling process needs.
pub struct Part<'a> {
    /// The folder of Slurm's library.
    pub plugins: &'a Path,
    /// Our object.
    pub object: &'a Path,
    /// Our command, which finds the machine.
    pub command: &'a Path,
    /// A folder for the object's state, and Slurm's log beside it.
    pub folder: &'a Path,
    /// Words of the plugstack line.
    pub settings: &'a str,
    /// Launches of each kind.
    pub launches: u32,
}

fn case(tasks: u32, bits: u32, c: &Constants) -> Case {
    let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u16);
    let machine = Machine::regular(1, cpus, 1);
    Case {
        seed: 0,
        class: Class::Threads,
        cred: Credential::whole(&machine),
        tasks_to_launch: vec![tasks as u16],
        node_id: 0,
        cpus_per_task: 1,
        threads_per_core: 0xfffe,
        ntasks_per_core: 0xffff,
        ntasks_per_socket: 0xffff,
        task_dist: c.SLURM_DIST_BLOCK_CYCLIC,
        overcommit: false,
        job_core_spec: 0xfffe,
        cpu_bind_type: bits as u16,
        cpu_bind: None,
        task_plugin_param: 0,
        select_type_param: 0,
        machine,
    }
}

fn message(kind: &str, turn: u32, c: &Constants) -> Message {
    let tasks = if kind == "overcommit" { 200 } else { 1 };
    let bits = match kind {
        "list" | "refused" => c.CPU_BIND_MASK,
        "binding" => 0,
        _ => c.CPU_BIND_TO_CORES,
    };
    let case = case(tasks, bits, c);
    let list = match kind {
        "list" => Some("0x1"),
        "refused" => Some("0x1,zz"),
        _ => None,
    };
    // Every other one asks for all cores, of which somebody has some.
    let cores = if turn.is_multiple_of(2) {
        1
    } else {
        case.machine.core_count()
    };
    let option = || JobOption {
        kind: 0x4400,
        option: b"binding:berth".to_vec(),
        argument: Some(format!("linear:{cores}").into_bytes()),
    };
    Message {
        kind: Kind::Tasks,
        step: [1 + turn % JOBS, turn % 4, c.NO_VAL],
        node_id: 0,
        tasks,
        ids: vec![(0..tasks).collect()],
        flags: c.LAUNCH_OVERCOMMIT.filter(|_| tasks > 1).unwrap_or(0),
        node_cpus: case.node_cpus(),
        accel_bind_type: 0,
        cpu_bind: list.map(|list| list.as_bytes().to_vec()),
        mem_bind_type: 0,
        mem_bind: None,
        nodes: Some(case.cred.hosts.clone().into_bytes()),
        tres_bind: None,
        env: vec![b"PATH=/usr/bin".to_vec(), b"BERTH_NOTE=a user's".to_vec()],
        options: (kind == "binding").then(option).into_iter().collect(),
        case,
    }
}

/// Calls the hook, each time between two marks.
///
/// # Errors
/// What is missing.
pub fn call(part: &Part<'_>) -> Result<(), String> {
    let slurm = slurm(part.plugins)?;
    let object = Object::load(part.object, libc::RTLD_LAZY)?;
    let mut words: Vec<_> = part.settings.split(' ').map(str::to_owned).collect();
    words.push(format!("state_dir={}/state", part.folder.display()));
    words.push(format!("command={}", part.command.display()));
    object.set(&words)?;
    let log = part.folder.join("log");
    let log = CString::new(log.as_os_str().as_bytes()).map_err(|why| why.to_string())?;
    set_log(slurm.layout.line, Log::InfoTo(&log));
    let (hook, step) = (object.hook()?, object.step_hooks()?);
    for turn in 0..FIRST + part.launches {
        for (number, kind) in (0u64..).zip(KINDS) {
            let message = message(kind, turn, &slurm.layout.constants);
            let mut records = Tasks::new(&message, slurm);
            let mark = |which: usize| {
                // SAFETY: takes two numbers; there is no such kind of priority.
                unsafe { libc::syscall(libc::SYS_getpriority, MARKS[which], number) };
            };
            if turn >= FIRST {
                mark(0);
            }
            // SAFETY: a launch hook of an object for the running release.
            unsafe { records.run(hook) };
            if turn >= FIRST {
                mark(1);
            }
            // Now and then a slurmstepd says that its step is there.
            if kind == "binding" && turn.is_multiple_of(3) {
                // SAFETY: slurmstepd's hook of the same object.
                unsafe { records.confirm(&message.case, step.before) };
            }
        }
    }
    Ok(())
}

/// One call of one kind of launch, as often as it was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Often {
    /// Launches that made it.
    pub launches: u64,
    /// The most of one launch.
    pub most: u64,
}

/// What was seen.
#[derive(Debug, Default)]
pub struct Seen {
    /// Launches of each kind.
    pub launches: BTreeMap<&'static str, u64>,
    /// By kind and call.
    pub calls: BTreeMap<(&'static str, String), Often>,
}

impl Seen {
    fn launch(&mut self, kind: &'static str, calls: &BTreeMap<String, u64>) {
        *self.launches.entry(kind).or_default() += 1;
        for (words, count) in calls {
            let often = self.calls.entry((kind, words.clone())).or_default();
            often.launches += 1;
            often.most = often.most.max(*count);
        }
    }
}

/// Follows a program that does [`call`] in a folder.
///
/// # Errors
/// What the system says, or a program that failed.
pub fn trace(command: &mut Command, folder: &Path) -> Result<Seen, String> {
    let (mut seen, mut kind, mut calls) = (Seen::default(), None, BTreeMap::new());
    let folder = folder.to_string_lossy().into_owned();
    start(command).map_err(|why| format!("{command:?} cannot be followed: {why}"))?;
    let done = follow(|call| {
        let [which, number, ..] = call.arguments;
        if call.number == libc::SYS_getpriority && which == MARKS[0] {
            (kind, calls) = (KINDS.get(number as usize).copied(), BTreeMap::new());
        } else if call.number == libc::SYS_getpriority && which == MARKS[1] {
            if let Some(kind) = kind.take() {
                seen.launch(kind, &calls);
            }
        } else if kind.is_some() {
            let words = named(&words(call), &folder);
            *calls.entry(words).or_default() += 1;
        }
        true
    });
    done.map_err(|why| why.to_string())?;
    Ok(seen)
}

/// The same words wherever the folder is, whichever process is meant, and whatever number stands in
/// a file's name.
fn named(words: &str, folder: &str) -> String {
    let words = words.replace(&format!("{folder}/state"), "STATE");
    let words = words.replace(&format!("{folder}/log"), "LOG");
    for (begin, shown) in [("/proc/", "PID"), ("/.", "N")] {
        if let Some((head, tail)) = words.split_once(begin)
            && tail.contains(|letter: char| letter.is_ascii_digit())
        {
            return format!("{head}{begin}{}", without_numbers(tail, shown));
        }
    }
    words
}

fn without_numbers(text: &str, shown: &str) -> String {
    let mut out = String::new();
    let mut before = false;
    for letter in text.chars() {
        let digit = letter.is_ascii_digit();
        if !digit {
            out.push(letter);
        } else if !before {
            out.push_str(shown);
        }
        before = digit;
    }
    out
}
