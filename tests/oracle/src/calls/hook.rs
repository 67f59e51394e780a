//! The launch hook alone: a process calls it for launches of several kinds, between two marks, and
//! another one follows that process and notes what it asks of the kernel between them.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use slurm_sys::layout::Constants;

use crate::arguments::Files;
use crate::calls::tracer::{follow, start};
use crate::calls::words::words;
use crate::case::Case;
use crate::fuzz::child::ours;
use crate::machine::Machine;
use crate::message::{JobOption, Message};
use crate::slurmd::Launch;
use crate::stepd::Step;

/// The kinds of launches.
pub const KINDS: [&str; 5] = ["plain", "list", "refused", "overcommit", "binding"];
/// The first launches of a process may ask for more.
const FIRST: u32 = 5;
/// `getpriority` for nobody's priorities: what is between these two is a launch.
const MARKS: [u64; 2] = [0x6265_0001, 0x6265_0002];
/// Jobs in turn.
const JOBS: u32 = 5;

fn message(kind: &str, turn: u32, c: &Constants) -> Message {
    let tasks = if kind == "overcommit" { 200 } else { 1 };
    let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u16);
    let mut case = Case::plain(Machine::regular(1, cpus, 1), tasks, c);
    case.overcommit = tasks > 1;
    case.cpu_bind_type = match kind {
        "list" | "refused" => c.CPU_BIND_MASK as u16,
        "binding" => 0,
        _ => c.CPU_BIND_TO_CORES as u16,
    };
    case.cpu_bind = match kind {
        "list" => Some("0x1".into()),
        "refused" => Some("0x1,zz".into()),
        _ => None,
    };
    let mut message = Message::of(case, c);
    message.step = [1 + turn % JOBS, turn % 4, c.NO_VAL];
    message.nodes = Some(message.case.cred.hosts.clone().into_bytes());
    message.env = vec![b"PATH=/usr/bin".to_vec(), b"BERTH_NOTE=a user's".to_vec()];
    if kind == "binding" {
        // Every other one asks for all cores, of which somebody has some.
        let cores = match turn.is_multiple_of(2) {
            true => 1,
            false => message.case.machine.core_count(),
        };
        let option = JobOption::of_berth("binding", &format!("linear:{cores}"));
        message.options.push(option);
    }
    message
}

/// Calls the hook for so many launches of each kind, each time between two marks. `settings` are words of the plugstack
/// line.
///
/// # Errors
/// What is missing.
pub fn call(files: &Files, settings: &str, launches: u32) -> Result<(), String> {
    let (slurm, object) = ours(files, &[settings])?;
    let (hook, step) = (object.hook()?, object.step_hooks()?);
    for turn in 0..FIRST + launches {
        for (number, kind) in (0u64..).zip(KINDS) {
            let message = message(kind, turn, &slurm.layout.constants);
            let mut launch = Launch::new(&message, slurm);
            let mark = |which: usize| {
                // SAFETY: takes two numbers; there is no such kind of priority.
                unsafe { libc::syscall(libc::SYS_getpriority, MARKS[which], number) };
            };
            if turn >= FIRST {
                mark(0);
            }
            // SAFETY: a launch hook of an object for the running release.
            unsafe { launch.outcome(hook) };
            if turn >= FIRST {
                mark(1);
            }
            // Now and then a slurmstepd says that its step is there.
            if kind == "binding" && turn.is_multiple_of(3) {
                let mut record = Step::new(&mut launch, &message.case, std::process::id() as i32);
                // SAFETY: slurmstepd's hook of the same object.
                unsafe { record.begin(step.before, &mut launch) };
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
    let words = words.replace(&format!("{folder}/log"), "LOG");
    let words = words.replace(folder, "STATE");
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
