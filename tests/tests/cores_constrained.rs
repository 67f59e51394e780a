//! `ConstrainCores=yes` on a machine that slurmd does not count as it is: slurmd tells, and plans only what the
//! step's cgroup will have.

use std::fs;
use std::process::Command;

use berth_tests::{Cluster, cgroup_cpusets, command};

/// Fifteen CPUs, of which slurmd counts one a core.
const MACHINE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/topologies/sibling-offline.xml"
);
/// The second threads.
const OUTSIDE: &str = "1,3,5,7,9,11,13";

/// A cluster on that machine with this cgroup.conf. slurmd is told of the machine and has another: masks are
/// shown, and this host's kernel follows as far as it can.
fn cluster(task_plugin: &str, conf: &str) -> Cluster {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cgroup.conf");
    fs::write(&file, conf).expect("a file");
    Cluster::builder()
        .task_plugin(task_plugin)
        .file(&file)
        .plugstack(Some("compat=berth"))
        .env("HWLOC_XMLFILE", MACHINE)
        .up()
}

/// The mask of a step on the first core.
fn mask(cluster: &Cluster) -> String {
    let shown = cluster.srun(&["-n1", "--cpu-bind=verbose,cores", "true"]);
    let mask = shown.stderr.split("mask 0x").nth(1).unwrap_or_default();
    mask.split_whitespace().next().unwrap_or_default().into()
}

fn doctor(cluster: &Cluster) -> String {
    let output = Command::new(command())
        .args(["doctor", "--state-dir"])
        .arg(cluster.folder().join("run/berth"))
        .output()
        .expect("doctor starts");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn steps_are_planned_inside_their_cgroups() {
    if !cgroup_cpusets() {
        return;
    }
    let cluster = cluster("task/cgroup,task/berth", "ConstrainCores=yes\n");
    assert_eq!(mask(&cluster), "1", "core 0 has CPUs 0 and 1");
    let log = cluster.slurmd_log();
    assert!(
        log.contains(&format!("CPUs {OUTSIDE} are in no step's cgroup")),
        "{log}"
    );
    let told = doctor(&cluster);
    assert!(
        told.contains(&format!("CPUs {OUTSIDE} are in no step's cgroup")),
        "{told}"
    );
    // A --binding takes whole cores, as the cgroup has them.
    let bound = cluster.srun(&["-n1", "--binding=linear:1", "sh", "-c", "echo $BERTH_CPUS"]);
    assert_eq!(bound.expect_ok().trim(), "0");
    // slurmd reads cgroup.conf again without a restart.
    let conf = cluster.folder().join("etc/cgroup.conf");
    let text = fs::read_to_string(&conf).expect("cgroup.conf");
    fs::write(&conf, text.replace("=yes", "=no")).expect("cgroup.conf");
    cluster.scontrol(&["reconfigure"]).expect_ok();
    cluster.wait_for("slurmd's new settings", || {
        (mask(&cluster) == "3").then_some(())
    });
}

#[test]
fn without_cgroups_a_core_has_all_of_its_threads() {
    if !cgroup_cpusets() {
        return;
    }
    for (plugins, conf) in [
        ("task/cgroup,task/berth", "ConstrainCores=no\n"),
        ("task/berth", "ConstrainCores=yes\n"),
    ] {
        let cluster = cluster(plugins, conf);
        assert_eq!(mask(&cluster), "3", "{plugins} {conf}");
        assert!(!cluster.slurmd_log().contains("in no step's cgroup"));
        assert!(!doctor(&cluster).contains("in no step's cgroup"));
    }
}
