//! The ledger with real processes that end in every way: what is bound is seen by the next
//! launch, what has ended is free, and no file can make it fall over.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use berth_host::ledger::{Entry, Kind, Ledger, NAME, Process, Step, public};
use berth_host::{LedgerError, StateDir};
use berth_placement::{CpuSet, Machine, Numbering, SocketKind};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const PATIENCE: Duration = Duration::from_secs(5);

struct Node {
    _base: tempfile::TempDir,
    dir: StateDir,
}

fn node() -> Node {
    let base = tempfile::tempdir().unwrap();
    let dir = StateDir::new(base.path(), "n1").unwrap();
    dir.prepare().unwrap();
    Node { _base: base, dir }
}

fn set(list: &str) -> CpuSet {
    CpuSet::from_list(list).unwrap()
}

fn step(job: u32, step: u32) -> Step {
    Step {
        job,
        step,
        component: u32::MAX - 1,
    }
}

fn entry(job: u32, cpus: &str) -> Entry {
    Entry {
        step: step(job, 0),
        tasks: 1,
        request: "linear:1".into(),
        cpus: set(cpus),
        ..Entry::default()
    }
}

fn add(ledger: &mut Ledger, entry: Entry) -> usize {
    let mut session = ledger.session(PATIENCE).unwrap();
    session.others(entry.step, &entry.cpus);
    session.add(entry).unwrap()
}

fn live(ledger: &mut Ledger, near: &str) -> Vec<u32> {
    let mut entries = ledger.session(PATIENCE).unwrap().all();
    let others = ledger
        .session(PATIENCE)
        .unwrap()
        .others(step(0, 0), &set(near));
    entries.retain(|entry| entry.cpus.intersects(&set(near)));
    assert_eq!(others.has_jobs(), !entries.is_empty());
    let mut jobs: Vec<_> = entries.iter().map(|entry| entry.step.job).collect();
    jobs.sort_unstable();
    jobs
}

/// This test program, as another process, doing `role` until it is told to go on.
fn other(role: &str, base: &Path) -> Child {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "another_process", "--nocapture"])
        .env("ROLE", role)
        .env("BASE", base)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = child.unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("ready")));
    child.stdout = None;
    child
}

fn go_on(child: &mut Child) {
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    child.wait().unwrap();
}

/// The part of the processes that the others start; without one it has nothing to do.
#[test]
fn another_process() {
    let Ok(role) = std::env::var("ROLE") else {
        return;
    };
    let base = std::env::var("BASE").unwrap();
    let dir = StateDir::new(Path::new(&base), "n1").unwrap();
    let mut ledger = Ledger::open(&dir).unwrap();
    let mut kept = None;
    let mut session = None;
    match role.as_str() {
        "stepd" => {
            let mut held = ledger.confirm(step(1, 0), 1000).unwrap().unwrap();
            held.set_task(std::process::id() as i32).unwrap();
            kept = Some(held);
        }
        "slurmd" => {
            add(&mut ledger, entry(1, "0-1"));
        }
        "full" => {
            add(&mut ledger, entry(1, "0"));
            // As on a disk without room: what is there stays, nothing can be added.
            let size = fs::metadata(dir.path().join(NAME)).unwrap().len();
            let limit = libc::rlimit {
                rlim_cur: size,
                rlim_max: size,
            };
            // SAFETY: both calls read what is passed, and this process does nothing else.
            unsafe {
                libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
                libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit);
            }
            let mut session = ledger.session(PATIENCE).unwrap();
            let told = session.add(entry(2, "1")).unwrap_err().to_string();
            assert!(told.contains("has room"), "{told}");
            let others = session.others(step(9, 0), &set("0")).now();
            assert_eq!(others.taken, set("0"));
        }
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
    let base = node.dir.path().parent().unwrap().to_path_buf();
    for killed in [false, true] {
        let mut slurmd = Ledger::open(&node.dir).unwrap();
        add(&mut slurmd, entry(1, "0-1"));
        assert_eq!(live(&mut slurmd, "1"), [1], "pending");
        let mut stepd = other("stepd", &base);
        assert_eq!(live(&mut slurmd, "0"), [1], "confirmed");
        assert_eq!(live(&mut slurmd, "2-5"), Vec::<u32>::new(), "elsewhere");
        // A slurmd that was started anew sees the same.
        let mut again = Ledger::open(&node.dir).unwrap();
        let entries = again.session(PATIENCE).unwrap().all();
        assert_eq!(entries.len(), 1);
        assert_eq!(entries[0].stepd.unwrap().pid, stepd.id() as i32);
        assert_eq!((entries[0].uid, entries[0].task), (1000, stepd.id() as i32));
        if killed {
            stepd.kill().unwrap();
            stepd.wait().unwrap();
        } else {
            go_on(&mut stepd);
        }
        for ledger in [&mut slurmd, &mut again] {
            assert_eq!(live(ledger, "0-1"), Vec::<u32>::new(), "killed: {killed}");
        }
    }
    let size = || fs::metadata(node.dir.path().join(NAME)).unwrap().len();
    let before = size();
    let mut ledger = Ledger::open(&node.dir).unwrap();
    add(&mut ledger, entry(2, "0"));
    assert_eq!(size(), before, "a free slot is used again");
}

#[test]
fn an_entry_that_nobody_confirms_ends_soon_after_its_slurmd() {
    let node = node();
    let base = node.dir.path().parent().unwrap().to_path_buf();
    let mut other = other("slurmd", &base);
    let mut ledger = Ledger::open(&node.dir).unwrap();
    assert_eq!(live(&mut ledger, "0"), [1]);
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(
        live(&mut ledger, "0"),
        [1],
        "its slurmstepd may be starting"
    );
    let end = Instant::now() + Duration::from_secs(20);
    while live(&mut ledger, "0") == [1] {
        assert!(Instant::now() < end, "it stays for ever");
        std::thread::sleep(Duration::from_millis(200));
    }
    // Its slot goes to the next, and whoever comes late for it finds nothing.
    add(&mut ledger, entry(2, "0"));
    let late = Ledger::open(&node.dir).unwrap().confirm(step(1, 0), 0);
    assert!(late.unwrap().is_none());
    assert_eq!(live(&mut ledger, "0"), [2]);
}

#[test]
fn one_at_a_time_and_nobody_waits_for_ever() {
    let node = node();
    let base = node.dir.path().parent().unwrap().to_path_buf();
    let mut ledger = Ledger::open(&node.dir).unwrap();
    let mut holder = other("holds", &base);
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
                let mut ledger = Ledger::open(dir).unwrap();
                for step in 0..50 {
                    let mut entry = entry(job, "0");
                    entry.step.step = step;
                    let mut session = ledger.session(PATIENCE).unwrap();
                    session.others(entry.step, &set("0"));
                    session.add(entry).unwrap();
                }
            });
        }
    });
    let mut ledger = Ledger::open(&node.dir).unwrap();
    assert_eq!(live(&mut ledger, "0").len(), 400);
}

#[test]
fn a_full_disk_is_said_and_loses_nothing() {
    let node = node();
    let base = node.dir.path().parent().unwrap().to_path_buf();
    let mut full = other("full", &base);
    let mut ledger = Ledger::open(&node.dir).unwrap();
    assert_eq!(live(&mut ledger, "0-1"), [1]);
    full.kill().unwrap();
    full.wait().unwrap();
}

#[test]
fn suspended_jobs_take_nothing() {
    let node = node();
    let mut task = Command::new("sleep").arg("60").spawn().unwrap();
    let mut ledger = Ledger::open(&node.dir).unwrap();
    let slot = add(&mut ledger, entry(1, "0-1"));
    let held = Ledger::open(&node.dir).unwrap().confirm(step(1, 0), 0);
    let mut held = held.unwrap().unwrap();
    held.set_task(task.id() as i32).unwrap();
    let mut occupied = || {
        let mut session = ledger.session(PATIENCE).unwrap();
        session.others(step(2, 0), &set("0-3")).now()
    };
    let taken = occupied();
    assert_eq!((taken.taken, taken.shared), (set("0-1"), CpuSet::new()));
    let pid = Pid::from_raw(task.id() as i32);
    let signal = |signal| kill(pid, signal).unwrap();
    let until = |stopped: bool| {
        while berth_host::ledger::is_stopped(task.id() as i32) != stopped {
            std::thread::yield_now();
        }
    };
    signal(Signal::SIGSTOP);
    until(true);
    let shared = occupied();
    assert_eq!((shared.taken, shared.shared), (CpuSet::new(), set("0-1")));
    signal(Signal::SIGCONT);
    until(false);
    assert_eq!(occupied().taken, set("0-1"), "resumed, it is where it was");
    task.kill().unwrap();
    task.wait().unwrap();
    let _ = slot;
}

#[test]
fn torn_foreign_and_cut_files() {
    let node = node();
    let path = node.dir.path().join(NAME);
    for (bytes, foreign) in [
        (&b""[..], false),
        (b"B", false),
        (
            b"somebody else's notes, which are long enough for a head and some slots of it",
            true,
        ),
        (&[0xff; 5000], true),
    ] {
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let mut ledger = Ledger::open(&node.dir).unwrap();
        assert_eq!(ledger.was_foreign(), foreign);
        add(&mut ledger, entry(1, "0"));
        assert_eq!(live(&mut ledger, "0"), [1]);
        assert!(!Ledger::open(&node.dir).unwrap().was_foreign());
    }
    let mut ledger = Ledger::open(&node.dir).unwrap();
    add(&mut ledger, entry(2, "0"));
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    let length = file.metadata().unwrap().len();
    // Half of the last record never came; every bit of the first may be wrong.
    file.set_len(length - 100).unwrap();
    assert_eq!(live(&mut ledger, "0"), [1]);
    for at in (96 + 8..96 + 72).step_by(7) {
        let whole = fs::read(&path).unwrap();
        file.write_all_at(&[!whole[at]], at as u64).unwrap();
        assert_eq!(live(&mut ledger, "0"), Vec::<u32>::new(), "byte {at}");
        fs::write(&path, whole).unwrap();
        assert_eq!(live(&mut ledger, "0"), [1]);
    }
    file.set_len(0).unwrap();
    let mut ledger = Ledger::open(&node.dir).unwrap();
    assert_eq!(live(&mut ledger, "0"), Vec::<u32>::new());
    // Another boot's.
    add(&mut ledger, entry(1, "0"));
    file.write_all_at(b"00000000-", 24).unwrap();
    let mut ledger = Ledger::open(&node.dir).unwrap();
    assert!(!ledger.was_foreign());
    assert_eq!(live(&mut ledger, "0"), Vec::<u32>::new());
}

#[test]
fn users_can_neither_write_nor_read_it() {
    let node = node();
    let path = node.dir.path().join(NAME);
    let ledger = Ledger::open(&node.dir).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    let told = Ledger::open(&node.dir).unwrap_err().to_string();
    assert!(told.contains("not to be believed"), "{told}");
    assert!(ledger.is_current());
    fs::remove_file(&path).unwrap();
    assert!(!ledger.is_current(), "removed by an administrator");
    std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
    let told = Ledger::open(&node.dir).unwrap_err().to_string();
    assert!(told.contains("opening it failed"), "{told}");
    fs::remove_file(&path).unwrap();
    let gone = StateDir::new(&node.dir.path().join("no"), "n1").unwrap();
    assert!(Ledger::open(&gone).is_err());
}

#[test]
fn more_cpus_than_there_is_room_for_are_said() {
    let node = node();
    let mut ledger = Ledger::open(&node.dir).unwrap();
    let far = ledger.session(PATIENCE).unwrap().add(entry(1, "60000"));
    assert!(matches!(far, Err(LedgerError::TooManyCpus(_))));
    add(&mut ledger, entry(1, "1023"));
    assert_eq!(live(&mut ledger, "1000-1023"), [1]);
}

#[test]
fn everybody_reads_how_full_the_node_is() {
    let node = node();
    let machine = Machine::regular(2, 2, 1, Numbering::Block).unwrap();
    let mut ledger = Ledger::open(&node.dir).unwrap();
    add(&mut ledger, entry(1, "0-1"));
    let mut batch = entry(1, "0-1");
    batch.kind = Kind::Batch;
    add(&mut ledger, batch);
    public::publish(&mut ledger, &node.dir, &machine, SocketKind::Package).unwrap();
    let path = node.dir.path().join(public::NAME);
    let text = fs::read_to_string(&path).unwrap();
    let lines =
        "m_topology=SCCSCC\nm_topology_inuse=sccSCC\nm_socket=2\nm_core=4\nm_thread=4\nsteps=2\n";
    assert_eq!(text, lines);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o644);
    assert!(Process::own().is_alive());
}
