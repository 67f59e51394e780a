//! The harness itself, with Slurm's own task/affinity: a real cluster comes up, binds
//! tasks, keeps running through a slurmd restart, and leaves nothing behind.

use std::path::Path;

use berth_tests::Cluster;

fn with_task_affinity() -> berth_tests::Builder {
    Cluster::builder()
        .task_plugin("task/affinity")
        .plugstack(None)
}

#[test]
fn srun_binds_tasks_to_different_cpus() {
    if !berth_tests::two_cpus() {
        return;
    }
    let cluster = with_task_affinity().up();
    let masks = cluster.task_masks(&["-n2", "--cpu-bind=threads"]);
    assert_eq!(masks.len(), 2, "{masks:?}");
    assert_ne!(masks[0], masks[1]);
    cluster.wait_idle();
}

#[test]
fn a_batch_script_runs_and_a_failing_one_is_told() {
    let cluster = with_task_affinity().up();
    let batch = cluster.sbatch(&[], "echo on $SLURMD_NODENAME");
    assert_eq!(
        (batch.state.as_str(), batch.exit_code.as_str()),
        ("COMPLETED", "0:0")
    );
    assert!(batch.output.starts_with("on berth"), "{batch:?}");
    let batch = cluster.sbatch(&[], "exit 3");
    assert_eq!(
        (batch.state.as_str(), batch.exit_code.as_str()),
        ("FAILED", "3:0")
    );
}

#[test]
fn two_nodes_run_one_step_also_after_a_restart() {
    let cluster = with_task_affinity().nodes(2).up();
    assert_eq!(cluster.task_masks(&["-N2"]).len(), 2);
    cluster.restart_slurmd();
    assert_eq!(cluster.task_masks(&["-N2"]).len(), 2);
    assert_eq!(cluster.slurmd_log().matches("slurmd version").count(), 4);
}

#[test]
fn slurmd_believes_in_a_synthetic_machine() {
    let cluster = with_task_affinity()
        .env("HWLOC_SYNTHETIC", "pack:2 core:4 pu:2")
        .up();
    let shown = cluster.run("sinfo", &["-h", "-o", "%X %Y %Z"]).expect_ok();
    assert_eq!(shown.trim(), "2 4 2");
}

#[test]
fn nothing_is_left_behind() {
    let cluster = with_task_affinity().up();
    let folder = cluster.folder().to_owned();
    // The step outlives the test's interest in it; it must not outlive the cluster.
    let mut srun = cluster
        .program("srun")
        .args(["sleep", "60"])
        .spawn()
        .expect("srun starts");
    cluster.wait_for("a running step", || {
        cluster
            .run("squeue", &["-h", "-s"])
            .stdout
            .contains("sleep")
            .then_some(())
    });
    drop(cluster);
    srun.wait().expect("srun ends");
    assert!(!folder.exists());
    let ours = folder.to_string_lossy().into_owned();
    let left: Vec<String> = std::fs::read_dir("/proc")
        .expect("/proc")
        .flatten()
        .filter_map(|entry| std::fs::read(Path::new(&entry.path()).join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(&ours))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_cluster_that_cannot_start_says_why() {
    let done = with_task_affinity()
        .example("no-such-example")
        .try_up()
        .expect_err("no such example");
    assert!(
        done.stderr.contains("no example 'no-such-example'"),
        "{}",
        done.stderr
    );
}
