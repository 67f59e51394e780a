//! Cores kept from jobs: by the node's configuration, and by the job itself. As task/affinity has it
//! under `compat=affinity`, and by default never on a core that is kept.

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
fn compare(configured: &dyn Fn() -> Builder, job: &[&str], kept: &str) {
    let affinity = configured()
        .task_plugin("task/affinity")
        .plugstack(None)
        .up();
    let theirs = steps(&affinity, job);
    drop(affinity);
    let same = configured().plugstack(Some("compat=affinity")).up();
    for ((request, ours), theirs) in REQUESTS.iter().zip(steps(&same, job)).zip(theirs) {
        assert_eq!(ours, theirs, "{request:?} {job:?}");
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
}

pub fn of_the_node() -> Outcome {
    compare(&|| Cluster::builder().node("CpuSpecList=0-1"), &[], "0-1");
    Ok(())
}

pub fn of_the_job() -> Outcome {
    let allowed = || Cluster::builder().set("AllowSpecResourcesUsage=YES");
    compare(&allowed, &["--core-spec=1"], "");
    compare(&allowed, &["--thread-spec=2"], "");
    Ok(())
}
