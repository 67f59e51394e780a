//! Steps over several nodes: which task is where, and on which of its CPUs.

use berth_tests::{Builder, Cluster};

use crate::Outcome;
use crate::tools::{Task, assert_disjoint, cpus, step};

/// The order of a node's cores with `-B 4:2 --distribution=block:cyclic`: the paper's
/// `mask_cpu:1,4,10,40,2,8,20,80`, on a node numbered socket by socket.
const CYCLIC: [&str; 8] = ["0", "2", "4", "6", "1", "3", "5", "7"];

fn four() -> Builder {
    Cluster::builder().nodes(4)
}

/// Node and CPUs of every rank.
fn want(ranks: u32, order: [&str; 8], node_of: impl Fn(u32) -> u32) -> Vec<Task> {
    let mut used = [0_usize; 4];
    let mut one = |rank| {
        let node = node_of(rank);
        let place = &mut used[node as usize];
        let cpus = cpus(order[*place % 8]);
        *place += 1;
        Task { rank, node, cpus }
    };
    (0..ranks).map(&mut one).collect()
}

/// The tasks of one node.
fn on(node: u32, tasks: &[Task]) -> Vec<Task> {
    let here = tasks.iter().filter(|task| task.node == node);
    here.cloned().collect()
}

#[expect(clippy::too_many_lines, reason = "one story of one cluster")]
pub fn layouts() -> Outcome {
    let requests: [&[&str]; 6] = [
        &["-N4", "-n32", "-m", "cyclic:cyclic", "--cpu-bind=cores"],
        &["-N4", "-n32", "-m", "plane=2", "--cpu-bind=cores"],
        &["-N4", "-n32", "-m", "plane=4", "--cpu-bind=cores"],
        &["-N4", "-n16", "-m", "cyclic:block", "--cpu-bind=cores"],
        &[
            "-N4",
            "-n10",
            "-m",
            "block:cyclic",
            "--cpu-bind=cores",
            "--exclusive",
        ],
        &[
            "-N2",
            "-n8",
            "-c2",
            "-m",
            "block:fcyclic",
            "--cpu-bind=cores",
        ],
    ];
    let affinity = four().task_plugin("task/affinity").plugstack(None).up();
    let theirs: Vec<_> = requests
        .iter()
        .map(|request| step(&affinity, request))
        .collect();
    drop(affinity);
    assert_eq!(theirs[0], want(32, CYCLIC, |rank| rank % 4));
    let node_of_plane = |size: u32| move |rank: u32| rank / size % 4;
    let nodes = |tasks: &[Task]| tasks.iter().map(|task| task.node).collect::<Vec<_>>();
    assert_eq!(
        nodes(&theirs[1]),
        (0..32).map(node_of_plane(2)).collect::<Vec<_>>()
    );
    assert_eq!(
        nodes(&theirs[2]),
        (0..32).map(node_of_plane(4)).collect::<Vec<_>>()
    );
    let same = four().plugstack(Some("compat=affinity")).up();
    for (request, theirs) in requests.iter().zip(&theirs) {
        assert_eq!(&step(&same, request), theirs, "{request:?}");
    }
    drop(same);
    let ours = four().plugstack(Some("")).up();
    for (request, theirs) in requests.iter().zip(&theirs) {
        let tasks = step(&ours, request);
        assert_eq!(
            nodes(&tasks),
            nodes(theirs),
            "Slurm's own choice: {request:?}"
        );
        for node in 0..4 {
            assert_disjoint(&on(node, &tasks));
        }
    }
    Ok(())
}
