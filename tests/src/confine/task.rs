//! The task that tries to leave its CPUs, in every way that a program has, and writes what came of it.
//! Its first look is from a constructor, before `main`.

use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// The highest CPU that is looked at; the machines of these tests have fewer.
const CPUS: usize = 64;
/// How long a process stays if nobody ends it.
const STAY: Duration = Duration::from_secs(100);

/// The CPUs at the first instruction of ours.
static FIRST: AtomicU64 = AtomicU64::new(0);

extern "C" fn first_look() {
    FIRST.store(own(), Ordering::Relaxed);
}

#[used]
// SAFETY: the loader calls the functions of this section before `main`; this one makes a system call.
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = first_look;

/// The CPUs of the calling thread, as bits.
fn own() -> u64 {
    let set = sched_getaffinity(Pid::from_raw(0)).unwrap_or_default();
    let has = |cpu: &usize| set.is_set(*cpu).unwrap_or(false);
    (0..CPUS).filter(has).map(|cpu| 1 << cpu).sum()
}

/// The calling thread asks for every CPU, then for each alone, and returns all that it ever had.
fn widened() -> u64 {
    let mut all = CpuSet::new();
    for cpu in 0..CPUS {
        let _ = all.set(cpu);
    }
    let me = Pid::from_raw(0);
    let mut had = own();
    let _ = sched_setaffinity(me, &all);
    had |= own();
    for cpu in 0..CPUS {
        let mut one = CpuSet::new();
        let _ = one.set(cpu);
        if sched_setaffinity(me, &one).is_ok() {
            had |= own();
        }
    }
    let _ = sched_setaffinity(me, &all);
    had | own()
}

/// Runs one role of this program; `None` if the words name none.
pub fn role(words: &[String]) -> Option<ExitCode> {
    match words
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .as_slice()
    {
        ["escape", file] => escape(file),
        ["stay", ..] => stay(),
        ["look"] => look(),
        _ => return None,
    }
    Some(ExitCode::SUCCESS)
}

/// `0x3 0xF`: the CPUs of the constructor, and all that could be had.
fn look() {
    let task = std::env::var("SLURM_PROCID").unwrap_or_default();
    let cpus = std::env::var("BERTH_CPUS").unwrap_or_default();
    let first = FIRST.load(Ordering::Relaxed);
    // One write, because the tasks share the output.
    let line = format!("{task} {first:#x} {:#x} {cpus}\n", widened());
    let _ = std::io::stdout().write_all(line.as_bytes());
}

fn me(role: &str) -> Command {
    let me = std::env::current_exe().expect("this program's path");
    let mut command = Command::new(me);
    let mark = std::env::args().nth(2).unwrap_or_default();
    command.args([role, &mark]).stdin(Stdio::null());
    command
}

/// A thread, a child, a daemon, and then another program in this process: all of them stay.
fn escape(file: &str) {
    let first = FIRST.load(Ordering::Relaxed);
    let had = widened();
    let in_thread = thread::spawn(widened).join().unwrap_or(u64::MAX);
    let task = std::env::var("SLURM_PROCID").unwrap_or_default();
    let line = format!(
        "first={first:#x} widened={had:#x} thread={in_thread:#x} cgroup={}\n",
        out_of_cgroup()
    );
    fs::write(format!("{file}.{task}"), line).expect("the task's file");
    let child = me("stay").spawn().expect("a child");
    // Its parent becomes another program, which never asks for it.
    std::mem::forget(child);
    let mut daemon = Command::new("setsid");
    let own = me("stay");
    daemon
        .arg("--fork")
        .arg(own.get_program())
        .args(own.get_args());
    daemon
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let started = daemon.status().expect("setsid of util-linux");
    assert!(started.success(), "a daemon");
    let why = me("stay").exec();
    panic!("exec: {why}");
}

/// Tries to write the files of its cgroup, and to leave it. Names what succeeded.
fn out_of_cgroup() -> String {
    let text = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let folders = text.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (names, path) = (parts.next()?, parts.next()?);
        match names {
            "" => Some(format!("/sys/fs/cgroup{path}")).filter(|own| is_cgroup(own)),
            "cpuset" => Some(format!("/sys/fs/cgroup/cpuset{path}")),
            _ => None,
        }
    });
    let done: Vec<_> = folders.flat_map(|folder| out_of(&folder)).collect();
    match done.is_empty() {
        true => "kept".into(),
        false => format!("left:{}", done.join(",")),
    }
}

/// Beside version 1 the unified hierarchy may be mounted nowhere.
fn is_cgroup(folder: &str) -> bool {
    fs::exists(format!("{folder}/cgroup.procs")).unwrap_or(false)
}

fn out_of(folder: &str) -> Vec<String> {
    let pid = std::process::id().to_string();
    let inner = format!("{folder}/inner");
    // 22.05 gives a task's own folder to the user.
    let _ = fs::create_dir(&inner);
    let tries = [
        ("cpuset.cpus", "0-63"),
        ("cpuset.cpus", ""),
        ("cgroup.procs", &pid),
        ("cgroup.subtree_control", "+cpuset"),
        ("../cgroup.procs", &pid),
        ("../../cgroup.procs", &pid),
        ("inner/cgroup.procs", &pid),
        ("inner/cgroup.threads", &pid),
    ];
    let write = |(file, value): &(&str, &str)| {
        let path = format!("{folder}/{file}");
        let file = fs::OpenOptions::new().write(true).open(path);
        file.and_then(|mut file| file.write_all(format!("{value}\n").as_bytes()))
    };
    let done = tries.iter().filter(|one| write(one).is_ok());
    let done = done.map(|(file, _)| (*file).to_string()).collect();
    // Slurm would never get rid of it.
    let _ = fs::remove_dir(&inner);
    done
}

/// Two threads that ask for every CPU, again and again, and work a little.
fn stay() {
    let work = || {
        let end = std::time::Instant::now() + STAY;
        while std::time::Instant::now() < end {
            widened();
            thread::sleep(Duration::from_millis(20));
        }
    };
    thread::spawn(work);
    work();
}
