//! The tasks' program: says who it is, and does what moves threads from CPU to CPU.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

use berth_tests::confine::own;
use berth_tests::process;
use nix::sched::{CpuSet, sched_setaffinity, sched_yield};
use nix::unistd::Pid;

/// The highest CPU that is tried; the machines of this test have fewer.
const CPUS: usize = 64;
const THREADS: usize = 2;
const ROUNDS: usize = 4;

/// `work` and `batch` stay where they may be, `leave` has no fence and goes to each CPU, `rest` is a child of these;
/// `rank` speaks for the daemon that started it, and `login` waits until it is adopted.
pub fn run(role: &str) -> ExitCode {
    if role == "login" {
        let _ = std::io::stdin().read_line(&mut String::new());
        let me = std::env::current_exe().expect("this program's path");
        let done = Command::new(me).args(["task", "adopted"]).status();
        return ExitCode::from(u8::from(!done.is_ok_and(|done| done.success())));
    }
    if role != "rest" {
        say(role);
    }
    let workers: Vec<_> = (0..THREADS).map(|_| thread::spawn(roam)).collect();
    if role != "rest" {
        let me = std::env::current_exe().expect("this program's path");
        let child = Command::new(me).args(["task", "rest"]).status();
        assert!(child.expect("a child").success());
    }
    for worker in workers {
        worker.join().expect("a thread");
    }
    ExitCode::SUCCESS
}

fn say(role: &str) {
    let env = |name: &str| std::env::var(name).unwrap_or_default();
    let folders = own::folders("cpuset");
    let cpus = |folder: Option<&PathBuf>| own::effective(folder.expect("a folder"), "cpus");
    let (leaf, job) = (cpus(folders.first()), cpus(folders.last()));
    let leaf = if role == "leave" { "-" } else { &leaf };
    let (node, number) = (env("SLURMD_NODENAME"), env("SLURM_PROCID"));
    // Nobody tells these their CPUs.
    let (pid, number, told) = match role {
        "rank" => (daemon(), "daemon", leaf.into()),
        "adopted" => (Pid::this().as_raw(), role, leaf.into()),
        "batch" => (Pid::this().as_raw(), role, env("BERTH_CPUS")),
        _ => (Pid::this().as_raw(), number.as_str(), env("BERTH_CPUS")),
    };
    let line = format!("{node} {number} {pid} {told} {leaf} {job}\n");
    // One write, because the tasks share the output.
    let _ = std::io::stdout().write_all(line.as_bytes());
}

/// The step's task above this process: the last one below slurmstepd.
fn daemon() -> i32 {
    let status = |pid: i32, field: &str| process::status(pid, field).unwrap_or_default();
    let mut pid = nix::unistd::getppid().as_raw();
    loop {
        let above: i32 = status(pid, "PPid").parse().unwrap_or(0);
        if above <= 1 || status(above, "Name").starts_with("slurmstepd") {
            return pid;
        }
        pid = above;
    }
}

/// Asks for every CPU, for each alone, and works a little on what it gets.
fn roam() {
    for round in 0..ROUNDS {
        let mut all = CpuSet::new();
        for cpu in 0..CPUS {
            let _ = all.set(cpu);
        }
        let _ = sched_setaffinity(Pid::from_raw(0), &all);
        for cpu in (round..CPUS / 4).step_by(ROUNDS) {
            let mut one = CpuSet::new();
            let _ = one.set(cpu);
            let _ = sched_setaffinity(Pid::from_raw(0), &one);
        }
        let _ = sched_setaffinity(Pid::from_raw(0), &all);
        let end = Instant::now() + Duration::from_millis(2);
        while Instant::now() < end {
            let _ = sched_yield();
        }
        thread::sleep(Duration::from_millis(1));
    }
}
