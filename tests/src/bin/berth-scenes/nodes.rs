//! Steps over several nodes: which task is where, and on which of its CPUs.

use std::fs;

use berth_tests::{Builder, Cluster};

use crate::Outcome;
use crate::tools::{Task, all_cpus, assert_disjoint, cpus, in_allocation, lists, step, tasks};

/// The order of a node's cores with `-B 4:2 --distribution=block:cyclic`: the paper's
/// `mask_cpu:1,4,10,40,2,8,20,80`, on a node numbered socket by socket.
const CYCLIC: [&str; 8] = ["0", "2", "4", "6", "1", "3", "5", "7"];
const BLOCK: [&str; 8] = ["0", "1", "2", "3", "4", "5", "6", "7"];

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

pub fn paper() -> Outcome {
    for compat in ["", "compat=affinity"] {
        let cluster = four().plugstack(Some(compat)).up();
        let asked = ["-N4", "-n32", "-B", "4:2", "--distribution=block:cyclic"];
        assert_eq!(step(&cluster, &asked), want(32, CYCLIC, |rank| rank / 8));
        // As the paper says, this is what one gets without asking.
        let plain = step(&cluster, &["-N4", "-n32", "-B", "4:2"]);
        assert_eq!(plain, want(32, CYCLIC, |rank| rank / 8));
        let list = "--cpu-bind=mask_cpu:1,4,10,40,2,8,20,80";
        assert_eq!(
            step(&cluster, &["-N4", "-n32", list]),
            want(32, CYCLIC, |rank| rank / 8)
        );
        let list = "--cpu-bind=map_cpu:0,1,2,3,4,5,6,7";
        assert_eq!(
            step(&cluster, &["-N4", "-n32", list]),
            want(32, BLOCK, |rank| rank / 8)
        );
    }
    Ok(())
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

pub fn host_file() -> Outcome {
    let cluster = four().plugstack(Some("")).up();
    let names = cluster.run("sinfo", &["-h", "-N", "-o", "%N"]).expect_ok();
    let names: Vec<&str> = names.lines().collect();
    let order = [3, 1, 1, 0, 3, 1];
    let file = cluster.folder().join("etc/hosts");
    let text: Vec<&str> = order.iter().map(|node: &usize| names[*node]).collect();
    fs::write(&file, text.join("\n") + "\n").expect("a host file");
    // In an allocation: srun's own would have one core on each node of the list.
    let script = format!(
        "SLURM_HOSTFILE={} srun -n6 -m arbitrary --cpu-bind=cores $probe",
        file.display()
    );
    let tasks = tasks(&in_allocation(&cluster, &["-N4", "--exclusive"], &script));
    let nodes: Vec<u32> = tasks.iter().map(|task| task.node).collect();
    // The step's nodes are numbered among themselves: 0, 1 and 3 are three nodes.
    let distinct = |node: &u32| nodes.iter().filter(|other| *other == node).count();
    assert_eq!(
        nodes.iter().map(distinct).collect::<Vec<_>>(),
        [2, 3, 3, 1, 2, 3]
    );
    assert_eq!(
        all_cpus(&tasks),
        lists(&["0", "0", "2", "0", "2", "4"]),
        "{tasks:#?}"
    );
    Ok(())
}

/// One node has fewer cores left than the other: each plans with what it has.
pub fn uneven() -> Outcome {
    let cluster = four().nodes(2).plugstack(Some("")).up();
    let holder = cluster
        .program("srun")
        .args(["-N1", "-n5", "sleep", "60"])
        .spawn();
    let mut holder = holder.expect("srun starts");
    let running = || {
        let jobs = cluster.run("squeue", &["-h", "-t", "running"]).expect_ok();
        (!jobs.is_empty()).then_some(())
    };
    cluster.wait_for("the job that holds cores", running);
    let tasks = step(&cluster, &["-N2", "-n11", "--cpu-bind=cores"]);
    for node in 0..2 {
        let here = on(node, &tasks);
        assert_disjoint(&here);
        assert!(here.iter().all(|task| task.cpus.len() == 1), "{tasks:#?}");
    }
    assert_eq!(tasks.len(), 11);
    cluster.run("scancel", &["--user=root"]).expect_ok();
    let _ = holder.wait();
    Ok(())
}
