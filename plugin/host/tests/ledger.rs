//! The ledger with real processes that end in every way: what is bound is seen by the next
//! launch, what has ended is free, and no file can make it fall over.

mod ledger_node;
mod sleeper;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use berth_host::ledger::{Cpuset, Entry, Ledger, NAME};
use berth_host::{LedgerError, StateDir};
use berth_placement::CpuSet;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use ledger_node::{Node, PATIENCE, add, entry, hold, live, node, set, step};
use sleeper::Sleeper;

/// This test program, as another process, doing `role` until it is told to go on.
fn other(role: &str, node: &Node) -> Child {
    let mut program = Command::new(std::env::current_exe().unwrap());
    started(&mut program, role, node)
}

/// This test program in a PID namespace of its own, with its own `/proc`, as Slurm's namespace plugin starts
/// slurmstepds.
fn other_in_namespace(role: &str, node: &Node) -> Child {
    let mut unshare = Command::new("unshare");
    unshare.args(["--pid", "--fork", "--kill-child", "--mount-proc"]);
    started(unshare.arg(std::env::current_exe().unwrap()), role, node)
}

fn started(program: &mut Command, role: &str, node: &Node) -> Child {
    let child = program
        .args(["--exact", "another_process", "--nocapture"])
        .env("ROLE", role)
        .env("BASE", node.base())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = child.unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("ready")));
    child.stdout = None;
    child
}

/// The files of the steps.
fn files(dir: &StateDir) -> Vec<String> {
    let files = fs::read_dir(dir.path().join(NAME)).unwrap();
    let name =
        |file: std::io::Result<fs::DirEntry>| file.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<_> = files.map(name).collect();
    names.sort();
    names
}

fn go_on(child: &mut Child) {
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    child.wait().unwrap();
}

/// As on a disk without room: what is there stays, nothing can be added.
fn fills_up(ledger: &Ledger) {
    add(ledger, entry(1, "0"));
    let limit = libc::rlimit {
        rlim_cur: 100,
        rlim_max: 100,
    };
    // SAFETY: both calls read what is passed, and this process does nothing else.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit);
    }
    let mut session = ledger.session(PATIENCE).unwrap();
    let told = session.hold(entry(2, "1")).unwrap_err().to_string();
    assert!(told.contains("has room"), "{told}");
    let others = session.others(step(9, 0), &set("0")).now();
    assert_eq!(others.taken, set("0"));
}

/// The part of the processes that the others start; without one it has nothing to do.
#[test]
fn another_process() {
    let Ok(role) = std::env::var("ROLE") else {
        return;
    };
    let base = std::env::var("BASE").unwrap();
    let dir = StateDir::new(Path::new(&base), "n1").unwrap();
    let ledger = Ledger::open(&dir).unwrap();
    let mut kept = None;
    let mut session = None;
    match role.as_str() {
        "stepd" => {
            let uid = 1000;
            let mut held = hold(
                &ledger,
                Entry {
                    uid,
                    ..entry(1, "0-1")
                },
            );
            held.started(std::process::id() as i32, Vec::new()).unwrap();
            kept = Some(held);
        }
        "stepd in its cgroup" => {
            let cgroup = std::env::var("CGROUP").unwrap();
            fs::write(
                format!("{cgroup}/cgroup.procs"),
                std::process::id().to_string(),
            )
            .unwrap();
            kept = Some(hold(&ledger, entry(1, "0-1")));
            // A task, which lives on for itself.
            let mut task = Command::new("sleep");
            task.arg("600").stdout(Stdio::null()).stderr(Stdio::null());
            drop(task.spawn().unwrap());
        }
        "looks" => assert_eq!(live(&ledger, "0-2"), [1, 2]),
        "full" => fills_up(&ledger),
        "holds" => session = Some(ledger.session(PATIENCE).unwrap()),
        other => panic!("{other}"),
    }
    println!("ready");
    let _ = std::io::stdin().read_line(&mut String::new());
    drop(session);
    if let Some(held) = kept {
        held.release().unwrap();
    }
}

#[test]
fn an_entry_lives_as_long_as_its_slurmstepd() {
    let node = node();
    for killed in [false, true] {
        let slurmd = node.ledger();
        let mut stepd = other("stepd", &node);
        assert_eq!(live(&slurmd, "0"), [1]);
        assert_eq!(live(&slurmd, "2-5"), Vec::<u32>::new(), "elsewhere");
        // A slurmd that was started anew sees the same.
        let again = node.ledger();
        let entries = again.session(PATIENCE).unwrap().entries().to_vec();
        assert_eq!(entries.len(), 1);
        assert_eq!(entries[0].stepd.unwrap().pid, stepd.id() as i32);
        let task = entries[0].task.map(|task| task.pid);
        assert_eq!((entries[0].uid, task), (1000, Some(stepd.id() as i32)));
        if killed {
            stepd.kill().unwrap();
            stepd.wait().unwrap();
        } else {
            go_on(&mut stepd);
        }
        for ledger in [&slurmd, &again] {
            assert_eq!(live(ledger, "0-1"), Vec::<u32>::new(), "killed: {killed}");
        }
    }
    let ledger = node.ledger();
    add(&ledger, entry(2, "0"));
    assert_eq!(
        files(&node.dir),
        ["2.0.4294967294"],
        "the next one removes the dead"
    );
}

/// A slurmstepd is killed, and its tasks live on: they have their cores until the last of them has ended.
#[test]
fn tasks_that_outlive_their_slurmstepd_keep_their_cores() {
    let roots = ["/sys/fs/cgroup", "/sys/fs/cgroup/freezer"].map(Path::new);
    let root = roots
        .into_iter()
        .find(|root| root.join("cgroup.procs").exists());
    let name = format!("berth-ledger-{}", std::process::id());
    let above = root.unwrap_or(roots[0]).join(name);
    let step = above.join("step_0");
    let made = fs::create_dir_all(&step);
    if root.is_none() || made.is_err() {
        return eprintln!("skipped: no cgroup can be made here: {made:?}");
    }
    let node = node();
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.env("CGROUP", &step);
    let mut stepd = started(&mut program, "stepd in its cgroup", &node);
    let ledger = node.ledger();
    assert_eq!(live(&ledger, "0"), [1]);
    stepd.kill().unwrap();
    stepd.wait().unwrap();
    let tasks = fs::read_to_string(step.join("cgroup.procs")).unwrap();
    let task: i32 = tasks.trim().parse().expect("one task");
    assert_eq!(live(&ledger, "0"), [1], "its task runs");
    kill(Pid::from_raw(task), Signal::SIGKILL).unwrap();
    while !fs::read_to_string(step.join("cgroup.procs"))
        .unwrap()
        .is_empty()
    {
        std::thread::yield_now();
    }
    assert_eq!(live(&ledger, "0"), Vec::<u32>::new());
    fs::remove_dir(&step).unwrap();
    fs::remove_dir(&above).unwrap();
}

#[test]
fn a_slurmstepd_of_another_pid_namespace_lives_too() {
    let unshare = ["--pid", "--fork", "--mount-proc", "true"];
    let made = Command::new("unshare").args(unshare).output();
    if !made.is_ok_and(|made| made.status.success()) {
        eprintln!("skipped: no PID namespace can be made here");
        return;
    }
    let node = node();
    let slurmd = node.ledger();
    let mut stepd = other_in_namespace("stepd", &node);
    assert_eq!(
        live(&slurmd, "0"),
        [1],
        "its number is of another process here"
    );
    let all = berth_host::ledger::look(&node.dir).unwrap();
    assert_eq!(all.len(), 1, "{all:?}");
    // Nor does it lose its slot, and one inside sees those outside.
    let mut own = hold(&slurmd, entry(2, "2"));
    own.started(std::process::id() as i32, Vec::new()).unwrap();
    let mut inside = other_in_namespace("looks", &node);
    go_on(&mut inside);
    assert_eq!(live(&slurmd, "0-2"), [1, 2]);
    go_on(&mut stepd);
    assert_eq!(live(&slurmd, "0-2"), [2]);
    let mut stepd = other_in_namespace("stepd", &node);
    stepd.kill().unwrap();
    stepd.wait().unwrap();
    let end = Instant::now() + Duration::from_secs(20);
    while live(&slurmd, "0") == [1] {
        assert!(Instant::now() < end, "it stays for ever");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn one_at_a_time_and_nobody_waits_for_ever() {
    let node = node();
    let ledger = node.ledger();
    let mut holder = other("holds", &node);
    let since = Instant::now();
    let busy = ledger.session(Duration::from_millis(50)).unwrap_err();
    assert!(matches!(busy, LedgerError::Busy(_)), "{busy}");
    assert!(since.elapsed() < Duration::from_secs(5));
    // However it ends, the kernel gives the lock back.
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert!(ledger.session(PATIENCE).is_ok());
}

#[test]
fn many_at_once_lose_nothing() {
    let node = node();
    std::thread::scope(|scope| {
        for job in 0..8 {
            let dir = &node.dir;
            scope.spawn(move || {
                let ledger = Ledger::open(dir).unwrap();
                for step in 0..25 {
                    let mut entry = entry(job, "0");
                    entry.step.step = step;
                    // Nobody is starved for so long, however slow and busy the machine is.
                    let mut session = ledger.session(Duration::from_secs(600)).unwrap();
                    std::mem::forget(session.hold(entry).unwrap());
                }
            });
        }
    });
    let ledger = node.ledger();
    assert_eq!(live(&ledger, "0").len(), 200);
}

#[test]
fn a_full_disk_is_said_and_loses_nothing() {
    let node = node();
    let mut full = other("full", &node);
    let ledger = node.ledger();
    assert_eq!(live(&ledger, "0-1"), [1]);
    full.kill().unwrap();
    full.wait().unwrap();
}

#[test]
fn suspended_jobs_take_nothing() {
    let node = node();
    let task = Sleeper::start();
    let ledger = node.ledger();
    let mut held = hold(&ledger, entry(1, "0-1"));
    held.started(task.pid(), Vec::new()).unwrap();
    let occupied = || {
        let session = ledger.session(PATIENCE).unwrap();
        session.others(step(2, 0), &set("0-3")).now()
    };
    let taken = occupied();
    assert_eq!((taken.taken, taken.shared), (set("0-1"), CpuSet::new()));
    task.signal(Signal::SIGSTOP, true);
    let shared = occupied();
    assert_eq!((shared.taken, shared.shared), (CpuSet::new(), set("0-1")));
    task.signal(Signal::SIGCONT, false);
    assert_eq!(occupied().taken, set("0-1"), "resumed, it is where it was");
    // A service lets it wait, and then move.
    let again = node.ledger();
    let change = |waits, cpus: &str| {
        let mut session = again.session(PATIENCE).unwrap();
        let before = session.entries()[0].clone();
        let after = Entry {
            waits,
            cpus: set(cpus),
            ..before.clone()
        };
        session.change(&before, &after).unwrap();
        [9, 1].map(|job| session.held_by_others(job).to_string())
    };
    assert_eq!(change(true, "0-1"), ["", ""]);
    assert_eq!(occupied().taken, CpuSet::new(), "it waits");
    assert_eq!(
        change(false, "4-5"),
        ["4-5", ""],
        "what is its own is nobody else's"
    );
    assert_eq!(occupied().taken, CpuSet::new(), "it went elsewhere");
}

/// Two jobs can share a memory node without sharing a CPU, so the look is not cut to the CPUs of one of them.
#[test]
fn memory_that_other_jobs_want_is_seen_wherever_their_cpus_are() {
    let node = node();
    let ledger = node.ledger();
    let wants = |job, memory, cpus: &str| Entry {
        cpuset: Some(Cpuset {
            exclusive: false,
            of_job: true,
            memory,
        }),
        ..entry(job, cpus)
    };
    add(&ledger, wants(1, true, "0-1"));
    add(&ledger, wants(2, true, "8"));
    add(&ledger, wants(3, false, "4"));
    add(&ledger, entry(4, "5"));
    let session = ledger.session(PATIENCE).unwrap();
    let of = |job| session.memory_cpus(job).to_string();
    assert_eq!([of(1), of(2), of(9)], ["8", "0-1", "0-1,8"]);
}
