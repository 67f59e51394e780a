//! A node that is not simply all its sockets and cores: cores kept from jobs by the node's configuration
//! or by the job, NUMA nodes that are sockets to Slurm. As task/affinity has it under `compat=affinity`,
//! and by default never on a core that is kept.

use std::fs;

use berth_tests::{Builder, Cluster};

use crate::Outcome;
use crate::tools::{Task, cpus, whole_node};

const REQUESTS: [&str; 4] = [
    "-n4 --cpu-bind=cores",
    "-n6 --cpu-bind=threads -m block:block",
    "-n2 -c4",
    "-n2 --cpu-bind=sockets",
];

fn steps(cluster: &Cluster, job: &[&str]) -> Vec<Vec<Task>> {
    let one = |request: &&str| whole_node(cluster, job, request);
    REQUESTS.iter().map(one).collect()
}

#[track_caller]
fn compare(configured: &dyn Fn() -> Builder, job: &[&str], kept: &str) -> Vec<Vec<Task>> {
    let affinity = configured()
        .task_plugin("task/affinity")
        .plugstack(None)
        .up();
    let theirs = steps(&affinity, job);
    drop(affinity);
    let same = configured().plugstack(Some("compat=affinity")).up();
    for ((request, ours), theirs) in REQUESTS.iter().zip(steps(&same, job)).zip(&theirs) {
        assert_eq!(&ours, theirs, "{request:?} {job:?}");
    }
    drop(same);
    let ours = configured().plugstack(Some("")).up();
    let kept = cpus(kept);
    for (request, tasks) in REQUESTS.iter().zip(steps(&ours, job)) {
        for task in &tasks {
            assert!(
                task.cpus.is_disjoint(&kept),
                "{request:?} {job:?}: {tasks:#?}"
            );
        }
    }
    theirs
}

pub fn of_the_node() -> Outcome {
    compare(&|| Cluster::builder().node("CpuSpecList=0-1"), &[], "0-1");
    Ok(())
}

pub fn of_the_job() -> Outcome {
    let allowed = || Cluster::builder().set("AllowSpecResourcesUsage=YES");
    // The last core of the node; the last thread of each socket.
    compare(&allowed, &["--core-spec=1"], "14-15");
    compare(&allowed, &["--thread-spec=2"], "7,15");
    Ok(())
}

/// Where a socket has several NUMA nodes, Slurm can be told that they are the sockets.
pub fn numa_as_socket() -> Outcome {
    let nodes = fs::read_dir("/sys/devices/system/node").map_err(|why| why.to_string())?;
    let is_node = |name: &str| {
        name.strip_prefix("node")
            .is_some_and(|id| id.parse::<u32>().is_ok())
    };
    let count = nodes
        .flatten()
        .filter(|file| is_node(&file.file_name().to_string_lossy()))
        .count();
    if count != 4 {
        return Err(format!(
            "made for four NUMA nodes on two sockets; here are {count}"
        ));
    }
    let theirs = compare(
        &|| {
            Cluster::builder()
                .set("SlurmdParameters=numa_node_as_socket")
                .node("SocketsPerBoard=4 CoresPerSocket=2")
        },
        &[],
        "",
    );
    let widths: Vec<usize> = theirs[3].iter().map(|task| task.cpus.len()).collect();
    assert_eq!(widths, [4, 4], "a socket is a NUMA node: {theirs:#?}");
    Ok(())
}

/// The same with L3 caches, where the machine has them.
pub fn l3_as_socket() -> Outcome {
    let l3 = "/sys/devices/system/cpu/cpu0/cache/index3/shared_cpu_list";
    let Ok(shared) = fs::read_to_string(l3) else {
        return Err("this machine has no L3 cache".into());
    };
    let theirs = compare(
        &|| Cluster::builder().set("SlurmdParameters=l3cache_as_socket"),
        &[],
        "",
    );
    let one = crate::tools::cpus(shared.trim()).len();
    let widths: Vec<usize> = theirs[3].iter().map(|task| task.cpus.len()).collect();
    assert_eq!(widths, [one, one], "a socket is an L3 cache: {theirs:#?}");
    Ok(())
}
