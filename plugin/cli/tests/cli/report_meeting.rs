//! The tasks of a node meet for `berth report`, whatever another user has prepared, and whatever
//! a process of the same user does.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::run::command;

/// Another user.
const USER: u32 = 65534;
const WAIT: &str = "3";

/// A report from a job, in a temporary directory that all users share.
fn report(shared: &Path, job: u32) -> Command {
    let mut report = command();
    report.args(["report", "--format=json", "--wait", WAIT]);
    report.env("TMPDIR", shared).env("SLURM_STEP_ID", "0");
    report.env("SLURM_JOB_ID", job.to_string());
    report.stdout(Stdio::piped()).stderr(Stdio::piped());
    report
}

/// One task of a step with two of them.
fn task(shared: &Path, job: u32, local: u32) -> Child {
    let mut report = report(shared, job);
    for name in ["SLURM_PROCID", "SLURM_LOCALID"] {
        report.env(name, local.to_string());
    }
    report.env("SLURM_NODEID", "0").env("SLURMD_NODENAME", "n1");
    report.env("SLURM_STEP_TASKS_PER_NODE", "2");
    report.spawn().unwrap()
}

fn shared() -> tempfile::TempDir {
    let folder = tempfile::Builder::new().tempdir_in("/tmp").unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    folder
}

/// What both tasks printed, within the time that a stalled meeting may take.
fn both(tasks: [Child; 2]) -> [Output; 2] {
    let since = Instant::now();
    let outputs = tasks.map(|mut task| {
        while task.try_wait().unwrap().is_none() {
            if since.elapsed() > Duration::from_secs(15) {
                task.kill().unwrap();
                panic!("a task hangs");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        task.wait_with_output().unwrap()
    });
    for output in &outputs {
        assert!(output.status.success(), "{output:?}");
    }
    outputs
}

fn rows(output: &Output) -> usize {
    String::from_utf8_lossy(&output.stdout).lines().count()
}

/// Slurm's variables are those of the one daemon that mpirun has started there.
#[test]
fn ranks_of_an_mpirun_inside_a_step_meet_each_other() {
    let shared = shared();
    let rank = |local: &str| {
        let mut report = report(shared.path(), 4712);
        report.env("SLURM_PROCID", "0").env("SLURM_LOCALID", "0");
        report.env("SLURM_STEP_TASKS_PER_NODE", "1");
        for name in ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"] {
            report.env(name, local);
        }
        report.env("OMPI_COMM_WORLD_LOCAL_SIZE", "2");
        report.spawn().unwrap()
    };
    let outputs = both(["0", "1"].map(rank));
    assert_eq!(outputs.each_ref().map(rows), [2, 0], "{outputs:?}");
}

/// The part of the other user: everything he can guess is his first.
#[test]
fn the_other_user() {
    let Ok(shared) = std::env::var("HOSTILE_FOLDER") else {
        return;
    };
    let name = "berth-report/0/4711.0-n1-0";
    let address = SocketAddr::from_abstract_name(name).unwrap();
    let _listener = UnixListener::bind_addr(&address).unwrap();
    let mut listeners = Vec::new();
    for folder in [shared.as_str(), "/dev/shm", "/tmp"] {
        for number in 0..300 {
            let folder = format!("{folder}/berth-report.4711.0-n1-0.{number:06}");
            if fs::create_dir(&folder).is_ok() {
                fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
                listeners.push(UnixListener::bind(format!("{folder}/socket")).unwrap());
            }
        }
        let bare = format!("{folder}/berth-report.4711.0-n1-0");
        let _ = fs::create_dir(bare);
    }
    println!("\nready");
    let _ = std::io::stdin().read_line(&mut String::new());
    for folder in [shared.as_str(), "/dev/shm", "/tmp"] {
        for number in 0..300 {
            let _ = fs::remove_dir_all(format!("{folder}/berth-report.4711.0-n1-0.{number:06}"));
        }
        let _ = fs::remove_dir(format!("{folder}/berth-report.4711.0-n1-0"));
    }
}

fn is_root() -> bool {
    nix::unistd::Uid::effective().is_root()
}

/// A process that another test has just forked may have the new program open for writing still.
fn started(command: &mut Command) -> Child {
    loop {
        match command.spawn() {
            Err(why) if why.kind() == ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            child => return child.unwrap(),
        }
    }
}

#[test]
fn another_user_can_neither_take_nor_stall_the_meeting() {
    if !is_root() {
        return eprintln!("skipped: only root can be two users");
    }
    let shared = shared();
    // Where the other user can run it, whoever owns the build's folder.
    let own = shared.path().join("other");
    fs::copy(std::env::current_exe().unwrap(), &own).unwrap();
    let mut command = Command::new(&own);
    command
        .args(["--exact", "report_meeting::the_other_user", "--nocapture"])
        .env("HOSTILE_FOLDER", shared.path())
        .current_dir("/")
        .uid(USER)
        .gid(USER)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut other = started(&mut command);
    let mut lines = BufReader::new(other.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.is_ok_and(|line| line == "ready")));
    let outputs = both([1, 0].map(|local| task(shared.path(), 4711, local)));
    drop(other.stdin.take());
    other.wait().unwrap();
    assert_eq!(outputs.each_ref().map(rows), [0, 2], "{outputs:?}");
}

#[test]
fn nothing_is_left_behind() {
    let shared = shared();
    let outputs = both([0, 1].map(|local| task(shared.path(), 4712, local)));
    assert_eq!(outputs.each_ref().map(rows), [2, 0], "{outputs:?}");
    // The second task never comes.
    let alone = task(shared.path(), 4713, 0).wait_with_output().unwrap();
    assert_eq!(rows(&alone), 1, "{alone:?}");
    let left: Vec<_> = fs::read_dir(shared.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_listener_that_says_nothing_holds_nobody_up() {
    let shared = shared();
    let folder = shared.path().join("berth-report.4714.0-n1-0.silent");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    let _silent = UnixListener::bind(folder.join("socket")).unwrap();
    let since = Instant::now();
    let late = task(shared.path(), 4714, 1).wait_with_output().unwrap();
    assert!(since.elapsed() < Duration::from_secs(10), "{late:?}");
    assert!(late.status.success(), "{late:?}");
}
