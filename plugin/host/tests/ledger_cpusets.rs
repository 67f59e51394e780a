//! What the ledger says of the cpusets of jobs that are suspended, or wait for their CPUs.

mod ledger_node;

use berth_host::ledger::{Beside, Cpuset, Entry, Held, Ledger, Task, content};

use ledger_node::{Node, PATIENCE, add, entry, hold, node, set, step};

/// The entry of a step in its job's cpuset, whose slurmstepd is this process.
fn in_cpuset(node: &Node, job: u32, number: u32) -> Held {
    let ledger = Ledger::open(&node.dir).unwrap();
    let cpuset = Cpuset {
        exclusive: true,
        of_job: true,
        memory: false,
    };
    let entry = Entry {
        step: step(job, number),
        cpuset: Some(cpuset),
        ..entry(job, "0-3")
    };
    hold(&ledger, entry)
}

#[test]
fn a_step_sees_that_its_job_waits() {
    let node = node();
    let beside = |number| {
        let ledger = Ledger::open(&node.dir).unwrap();
        let session = ledger.session(PATIENCE).unwrap();
        session.beside(step(1, number))
    };
    let found = |generation, runs| Some(Beside { generation, runs });
    let own = std::process::id() as i32;
    let mut first = in_cpuset(&node, 1, 0);
    let mut of_another_job = in_cpuset(&node, 2, 0);
    of_another_job.set_task(own).unwrap();
    assert_eq!(beside(7), None, "its tasks are not forked yet");
    first.set_task(own).unwrap();
    assert_eq!(beside(7), found(0, true));
    assert_eq!(beside(0), None, "its own entry");
    first.set_suspended(true).unwrap();
    assert_eq!(beside(7), found(0, false));
    // Its job has gone on elsewhere, and one of its steps has not heard of it yet.
    let mut second = in_cpuset(&node, 1, 1);
    second.set_task(own).unwrap();
    second.set_suspended(true).unwrap();
    let ledger = Ledger::open(&node.dir).unwrap();
    let session = ledger.session(PATIENCE).unwrap();
    first.set_cpus(&session, set("8-11"), 1).unwrap();
    drop(session);
    assert_eq!(beside(7), found(1, true));
}

/// A step of a job that is bound inside the job's cpuset has not taken it from the job.
#[test]
fn own_bindings_are_inside() {
    let node = node();
    let mut first = in_cpuset(&node, 1, 0);
    first.set_task(std::process::id() as i32).unwrap();
    let ledger = Ledger::open(&node.dir).unwrap();
    let is_taken = |ledger: &Ledger| ledger.session(PATIENCE).unwrap().is_taken(1);
    let bind = |ledger: &Ledger, job, number| {
        let step = step(job, number);
        add(
            ledger,
            Entry {
                step,
                ..entry(job, "0-1")
            },
        );
    };
    bind(&ledger, 1, 1);
    assert!(!is_taken(&ledger), "by its own job");
    bind(&ledger, 2, 0);
    assert!(is_taken(&ledger), "by another one");
}

/// A suspended job's tasks are stopped, and then frozen: its CPUs belong to others all the time.
#[test]
fn tasks_that_cgroup_v1_has_frozen() {
    let folder = std::path::PathBuf::from(format!(
        "/sys/fs/cgroup/freezer/berth-{}",
        std::process::id()
    ));
    if let Err(why) = std::fs::create_dir(&folder) {
        return eprintln!("skipped: no cgroup of a freezer of version 1 can be made here: {why}");
    }
    let mut sleep = std::process::Command::new("sleep")
        .arg("60")
        .spawn()
        .unwrap();
    let task = Task::of(sleep.id() as i32);
    let write = |file: &str, text: &str| std::fs::write(folder.join(file), text).unwrap();
    let is = |state: &str| {
        while std::fs::read_to_string(folder.join("freezer.state"))
            .unwrap()
            .trim()
            != state
        {
            std::thread::yield_now();
        }
    };
    let signal =
        |signal| nix::sys::signal::kill(nix::unistd::Pid::from_raw(task.pid), signal).unwrap();
    write("cgroup.procs", &task.pid.to_string());
    assert!(!task.is_stopped());
    // SIGTSTP would do nothing to a process group that nobody waits for.
    signal(nix::sys::signal::Signal::SIGSTOP);
    while !task.is_stopped() {
        std::thread::yield_now();
    }
    write("freezer.state", "FROZEN");
    is("FROZEN");
    assert!(task.is_stopped(), "it is frozen");
    write("freezer.state", "THAWED");
    is("THAWED");
    signal(nix::sys::signal::Signal::SIGCONT);
    while task.is_stopped() {
        std::thread::yield_now();
    }
    sleep.kill().unwrap();
    sleep.wait().unwrap();
    std::fs::remove_dir(&folder).unwrap();
}

#[test]
fn every_change_is_seen() {
    let node = node();
    let now = || content(&node.dir).unwrap();
    let mut seen = vec![now()];
    let mut changed = || {
        let now = now();
        assert!(!seen.contains(&now), "{seen:?}");
        assert_eq!(content(&node.dir).unwrap(), now, "reading changes nothing");
        seen.push(now);
    };
    let mut held = in_cpuset(&node, 1, 0);
    changed();
    held.set_task(std::process::id() as i32).unwrap();
    changed();
    held.set_suspended(true).unwrap();
    changed();
    let other = in_cpuset(&node, 2, 0);
    changed();
    other.release().unwrap();
    assert_eq!(now(), seen[3], "it is as before");
}

/// While a job goes on, some of its slurmstepds have heard of it and others have not: it holds its CPUs, whichever step
/// stands first in the ledger.
#[test]
fn a_job_that_goes_on_holds_its_cpus_at_once() {
    for first_hears in [true, false] {
        let node = node();
        let own = std::process::id() as i32;
        let mut steps = [0, 1].map(|number| in_cpuset(&node, 1, number));
        for held in &mut steps {
            held.set_task(own).unwrap();
        }
        let taken = || {
            let ledger = Ledger::open(&node.dir).unwrap();
            let session = ledger.session(PATIENCE).unwrap();
            let others = session.others(step(2, 0), &set("0-15"));
            others.now().taken.to_string()
        };
        assert_eq!(taken(), "0-3");
        let [one, other] = &mut steps;
        let (hears, does_not) = if first_hears {
            (one, other)
        } else {
            (other, one)
        };
        // Slurm suspends it, and the first slurmstepd that sees it speaks for all.
        hears.set_suspended(true).unwrap();
        assert_eq!(taken(), "", "suspended, first hears: {first_hears}");
        does_not.set_suspended(true).unwrap();
        assert_eq!(taken(), "");
        let ledger = Ledger::open(&node.dir).unwrap();
        let session = ledger.session(PATIENCE).unwrap();
        hears.set_cpus(&session, set("0-3"), 1).unwrap();
        drop(session);
        assert_eq!(taken(), "0-3", "resumed, first hears: {first_hears}");
    }
}

/// A job goes on, and the slurmstepd of its only step has not heard of it. Another step is planned in its cpuset, another
/// job gets the CPUs, and the first step ends: the second one finds that others have them.
#[test]
fn a_step_sees_that_others_got_its_jobs_cpus() {
    let node = node();
    let mut first = in_cpuset(&node, 1, 0);
    first.set_task(std::process::id() as i32).unwrap();
    first.set_suspended(true).unwrap();
    let mut second = in_cpuset(&node, 1, 1);
    let is_taken = |job| {
        let ledger = Ledger::open(&node.dir).unwrap();
        let session = ledger.session(PATIENCE).unwrap();
        session.is_taken(job)
    };
    assert!(!is_taken(1), "nobody else is there");
    let other = in_cpuset(&node, 2, 0);
    first.release().unwrap();
    assert!(is_taken(1) && is_taken(2));
    second.set_task(std::process::id() as i32).unwrap();
    second.set_suspended(true).unwrap();
    assert!(!is_taken(2), "job 1 waits");
    other.release().unwrap();
    assert!(!is_taken(1));
}
