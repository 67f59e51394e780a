//! Which task runs on which node: `berth plan` beside the real slurmctld, on pretended nodes of
//! sixteen CPUs, since slurmctld lays a step out by what slurm.conf says.

use std::collections::BTreeMap;
use std::process::Command;

use berth_tests::{Cluster, command};

const MACHINE: &str = "pack:2 core:4 pu:2";

/// Options that shape the layout; each is asked of both. `@2` is the second node's name.
const LAYOUTS: &[&str] = &[
    "-N3",
    "-N3 -n7",
    "-N3 -n7 -m block",
    "-N3 -n7 -m cyclic",
    "-N3 -n8 -m block:block",
    "-N3 -n8 -m cyclic:cyclic",
    "-N3 -n9 -m plane=2",
    "-N3 -n10 -m plane=4",
    "-N2 -n11 -m plane=3",
    "-N3 -n20 -m block,Pack",
    "-N3 -n20 -m block,NoPack",
    "-N2 -n9 -m *:block,Pack",
    "-N3 --ntasks-per-node=3",
    "-N3 -n5 --ntasks-per-node=2",
    "-N3 -n5 --ntasks-per-node=2 -m cyclic",
    "-N3 -n5 -c4 -m block,Pack",
    "-N2 -n4 -c2 --ntasks-per-node=2 -m block,Pack",
    "-N2 -n3 -c2 --ntasks-per-node=2 -m block,Pack",
    "-N2 -n5 -c4 -m cyclic",
    "-N3 -n9 -c2 -m plane=2",
    "-N2 -n12 --threads-per-core=1",
    "-N2 -n12 --threads-per-core=1 -m block,Pack",
    "-N2 -n9 --ntasks-per-core=1 -m block,Pack",
    "-N2 -n10 --hint=nomultithread -m block,Pack",
    "-m arbitrary -n5 -w @2,@1,@2,@3,@1",
];

/// Node and local number of each task, by its number.
type Places = BTreeMap<u64, (u64, u64)>;

fn from_slurm(cluster: &Cluster, options: &[&str]) -> Places {
    let line = "echo $SLURM_PROCID $SLURM_NODEID $SLURM_LOCALID";
    let done = cluster.srun(
        &[
            options,
            &["--exclusive", "--cpu-bind=none", "sh", "-c", line],
        ]
        .concat(),
    );
    assert_eq!(
        done.code,
        Some(0),
        "{options:?}: {} {}",
        done.stderr,
        done.stdout
    );
    let numbers = done.stdout.lines().map(|line| {
        let mut words = line.split(' ').map(|word| word.parse().unwrap());
        let mut next = || words.next().unwrap();
        (next(), (next(), next()))
    });
    numbers.collect()
}

fn from_berth(options: &[&str]) -> Places {
    let done = Command::new(command())
        .args(["plan", "--machine", MACHINE, "--format=json", "--cores=all"])
        .args(options)
        .arg("--cpu-bind=none")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{options:?}: {said}");
    let plan: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    let number = |task: &serde_json::Value, name: &str| task[name].as_u64().unwrap();
    let tasks = plan["tasks"].as_array().unwrap().iter();
    tasks
        .map(|task| {
            let place = (number(task, "node"), number(task, "local"));
            (number(task, "task"), place)
        })
        .collect()
}

fn named(cluster: &Cluster, line: &str) -> String {
    let names = cluster.run("sinfo", &["-h", "-N", "-o", "%N"]).stdout;
    let numbered = (1..).zip(names.lines());
    numbered.fold(line.into(), |line: String, (number, name)| {
        line.replace(&format!("@{number}"), name)
    })
}

#[test]
fn as_slurmctld_lays_steps_out() {
    let cluster = Cluster::builder()
        .nodes(3)
        .task_plugin("task/none")
        .plugstack(None)
        .env("HWLOC_SYNTHETIC", MACHINE)
        .node("SocketsPerBoard=2 CoresPerSocket=4 ThreadsPerCore=2")
        .up();
    let mut wrong = Vec::new();
    for line in LAYOUTS {
        let line = named(&cluster, line);
        let options: Vec<_> = line.split(' ').collect();
        let (theirs, ours) = (from_slurm(&cluster, &options), from_berth(&options));
        if theirs != ours {
            wrong.push(format!(
                "{line}\n  slurmctld {theirs:?}\n  berth     {ours:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
