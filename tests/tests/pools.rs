//! Pools on a real cluster: what depends on the kernel. Weights need cgroups: `berth-pools` has them, in a virtual machine.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use berth_host::{Ledger, StateDir};
use berth_tests::Cluster;

/// The example on a machine of eight cores, without cgroups.
fn cluster() -> Cluster {
    let builder = Cluster::builder()
        .example("pools")
        // These cores are not this host's, so cgroups cannot confine to them.
        .task_plugin("task/berth")
        .set("ProctrackType=proctrack/pgid");
    builder.env("HWLOC_SYNTHETIC", "pack:2 core:4 pu:1").up()
}

/// Where niceness counts between sessions, normal jobs are nice instead.
#[test]
fn a_pool_that_gives_no_more_time_says_so() {
    let cluster = cluster();
    let done = cluster.srun(&["-pmulti8", "-n1", "-c4", "true"]);
    let says = "this job is in the pool multi8, but gets no more CPU time";
    let of_sessions = fs::read_to_string("/proc/sys/kernel/sched_autogroup_enabled");
    let is_nice = !of_sessions.is_ok_and(|on| on.trim() == "1");
    assert_eq!(done.stderr.contains(says), !is_nice, "{done:#?}");
}

/// slurmd thaws what a slurmstepd has frozen that lives no more. It is known by its program's name, which each distribution
/// chooses.
#[test]
fn the_slurmstepd_of_this_slurm_is_known() {
    let cluster = cluster();
    let file = cluster.folder().join("parent");
    let line = format!(
        "echo $PPID > {0}.new; mv {0}.new {0}; sleep 60",
        file.display()
    );
    let mut step = cluster.program("srun");
    let mut step = step.args(["-n1", "sh", "-c", &line]).spawn().expect("srun");
    let parent: i32 = cluster.wait_for("the task", || {
        fs::read_to_string(&file).ok()?.trim().parse().ok()
    });
    assert!(
        berth_host::cgroup::is_slurmstepd(parent, &[parent]),
        "{:?}",
        fs::read_link(format!("/proc/{parent}/exe"))
    );
    step.kill().expect("it lives");
    step.wait().expect("a child");
}

/// Below a busy pool a normal job's slurmstepd may have the ledger for seconds.
#[test]
fn a_pool_job_waits_for_the_ledger() {
    let cluster = cluster();
    cluster
        .srun(&["-pmulti8", "-n1", "-c4", "true"])
        .expect_ok();
    let base = cluster.folder().join("run/berth");
    let mut nodes = fs::read_dir(&base).expect("the nodes").flatten();
    let node = nodes.find(|entry| entry.path().is_dir()).expect("a node");
    let dir = StateDir::new(&base, &node.file_name().to_string_lossy()).expect("its name");
    let ledger = Ledger::open(&dir).expect("its ledger");
    let session = ledger
        .session(Duration::from_secs(1))
        .expect("nobody has it");
    let mut step = cluster.program("srun");
    let step = step.args(["-pmulti8", "-n1", "-c4", "true"]);
    let step = step
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("srun");
    sleep(Duration::from_secs(3));
    drop(session);
    let done = step.wait_with_output().expect("a child");
    let notes = String::from_utf8_lossy(&done.stderr);
    assert!(!notes.contains("outside of the pool"), "{notes}");
    assert!(done.status.success());
}
