//! `l3cache_as_socket` and `numa_node_as_socket`: what slurmd calls a socket is one for berth too.

use berth_tests::{Builder, Cluster};

const REQUESTS: &[&[&str]] = &[
    &["-n2"],
    &["-n2", "--cpu-bind=sockets"],
    &["-n1", "--cpu-bind=sockets"],
    &["-n2", "--cpu-bind=cores", "-m", "block:cyclic"],
    &["-n2", "--cpu-bind=threads", "-m", "block:block"],
    &["-n1", "-c2", "--cpu-bind=cores", "-m", "block:fcyclic"],
    &["-n2", "--ntasks-per-socket=1", "--cpu-bind=cores"],
];

fn masks(cluster: &Cluster) -> Vec<Vec<String>> {
    REQUESTS
        .iter()
        .map(|request| cluster.task_masks(request))
        .collect()
}

fn compare(kind: &str, machine: &str) {
    if !berth_tests::two_cpus() {
        return;
    }
    // Of one package: two sockets are there only where slurmd counts them so.
    let builder = || -> Builder {
        Cluster::builder()
            .env("HWLOC_SYNTHETIC", machine)
            .set(&format!("SlurmdParameters={kind}"))
            .node("SocketsPerBoard=2 CoresPerSocket=1")
    };
    let theirs = builder().task_plugin("task/affinity").plugstack(None).up();
    let expected = masks(&theirs);
    drop(theirs);
    assert_eq!(
        expected[2],
        ["0x1"],
        "two sockets of one core: {expected:?}"
    );
    let ours = builder().plugstack(Some("compat=affinity")).up();
    assert_eq!(masks(&ours), expected);
    assert_eq!(
        ours.task_masks(&["-n2", "--binding=linear:1"]),
        ["0x1", "0x2"]
    );
    assert!(
        ours.slurmd_log().contains("machine S:C:T 2:1:1 (SCSC)"),
        "{}",
        ours.slurmd_log()
    );
}

#[test]
fn l3_caches() {
    compare("l3cache_as_socket", "pack:1 l3:2 core:1 pu:1");
}

#[test]
fn numa_nodes() {
    compare("numa_node_as_socket", "pack:1 numa:2 core:1 pu:1");
}
