//! slurmd and slurmstepd keep no thread of berth's after a launch.

use std::fs;

use berth_tests::{Cluster, process};

/// slurmd's threads as the kernel counts them.
fn threads(cluster: &Cluster) -> Option<u32> {
    let run = fs::read_dir(cluster.folder().join("run")).expect("a folder");
    let is_pid = |name: &str| name.starts_with("slurmd-") && name.ends_with(".pid");
    let mut files = run.flatten().map(|entry| entry.path());
    let file =
        files.find(|path| is_pid(&path.file_name().unwrap_or_default().to_string_lossy()))?;
    let pid = fs::read_to_string(file).ok()?;
    threads_of(pid.trim().parse().ok()?)
}

fn threads_of(process: i32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("Threads:"))?;
    line.trim().parse().ok()
}

/// A cluster with this task plugin, after some launches.
fn after_launches(task_plugin: &str) -> Cluster {
    let builder = Cluster::builder().task_plugin(task_plugin);
    let cluster = builder.plugstack(Some("")).up();
    for _ in 0..3 {
        cluster
            .srun(&["-n2", "--cpu-bind=cores", "true"])
            .expect_ok();
    }
    if task_plugin == "task/berth" {
        cluster.berth(&["reload"]).expect_ok();
    }
    cluster
        .srun(&["-n2", "--binding=linear:1", "true"])
        .expect_ok();
    cluster.wait_idle();
    cluster
}

#[test]
fn slurmd_has_as_many_threads_as_with_task_none() {
    if !berth_tests::two_cpus() {
        return;
    }
    let without = after_launches("task/none");
    // Those of the launches themselves end a moment later: one is left of a slurmd that waits for messages.
    let expected = without.wait_for("few threads", || {
        threads(&without).filter(|count| *count <= 2)
    });
    drop(without);
    let with = after_launches("task/berth");
    with.wait_for("as many threads", || {
        threads(&with).filter(|count| *count == expected)
    });
    let log = with.slurmd_log();
    assert!(
        log.contains("the machine was discovered again"),
        "the thread has run: {log}"
    );
}

/// The threads of the slurmstepd of a step that runs, once they are as many as expected, or few.
fn of_step(cluster: &Cluster, options: &[&str], expected: Option<u32>) -> u32 {
    let mut srun = cluster.program("srun");
    let mut srun = srun
        .args(options)
        .args(["-n1", "sleep", "300"])
        .spawn()
        .expect("srun");
    let conf = cluster.folder().join("etc/slurm.conf");
    let conf = conf.to_string_lossy();
    cluster.wait_for("the task", || {
        process::find("sleep", &conf).first().copied()
    });
    let found = cluster.wait_for("the threads of slurmstepd", || {
        let slurmstepd = process::find("slurmstepd", &conf).first().copied()?;
        let count = threads_of(slurmstepd)?;
        expected
            .is_none_or(|expected| count == expected)
            .then_some(count)
    });
    process::end(&mut srun);
    cluster.wait_idle();
    found
}

#[test]
fn slurmstepd_has_as_many_threads_as_with_task_none() {
    let up = |plugin: &str| {
        Cluster::builder()
            .task_plugin(plugin)
            .plugstack(Some(""))
            .up()
    };
    let none = up("task/none");
    let expected = of_step(&none, &[], None);
    drop(none);
    let cluster = up("task/berth");
    for options in [
        &["--cpu-bind=cores"][..],
        &["--binding=linear:1"],
        &["--cpuset=NCPUS=1"],
        &["--confine=task"],
    ] {
        assert_eq!(of_step(&cluster, options, Some(expected)), expected);
    }
}
