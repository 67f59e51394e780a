//! The command on machines with sockets: what it plans for several nodes beside what their tasks
//! report, and what it says of a node with a CPU that is not there.

use std::collections::BTreeMap;
use std::process::Command;

use berth_tests::Cluster;
use serde_json::Value;

use crate::lifecycle::Offline;
use crate::tools::in_allocation;
use crate::{Outcome, berth};

/// Steps whose every task is compared: node, number there, CPUs.
const STEPS: &[&str] = &[
    "-N4 -n32 -B 4:2 -m block:cyclic",
    "-N4 -n32 --cpu-bind=cores -m cyclic:cyclic",
    "-N4 -n32 --cpu-bind=cores -m plane=2",
    "-N4 -n32 --cpu-bind=cores -m plane=4",
    "-N4 -n14 --cpu-bind=cores -m cyclic:block",
    "-N3 -n13 --cpu-bind=cores -m block:block",
    "-N3 -n20 --cpu-bind=cores -m block:fcyclic,Pack",
    "-N4 -n16 -c2 --cpu-bind=cores -m block:cyclic",
    "-N2 --ntasks-per-node=3 --cpu-bind=sockets",
    "-N4 -n8 --ntasks-per-socket=1 -m block:block",
    "-N4 -n32",
    "-N2 -n3 --cpu-bind=mask_cpu:0x3,0xc",
];

/// Node, local number and CPUs by the task's number.
type Tasks = BTreeMap<u64, (u64, u64, String)>;

fn berth_says(arguments: &[&str]) -> Value {
    let done = Command::new(berth_tests::command())
        .args(arguments)
        .output()
        .expect("berth");
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    serde_json::from_slice(&done.stdout).unwrap_or_else(|_| panic!("{arguments:?}: {said}"))
}

fn number(value: &Value, name: &str) -> u64 {
    value[name]
        .as_u64()
        .unwrap_or_else(|| panic!("{name} in {value}"))
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_default().into()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn planned(request: &[&str]) -> Tasks {
    let plan = berth_says(&[&["plan", "--format=json", "--cores=all"], request].concat());
    let task = |task: &Value| {
        let place = (
            number(task, "node"),
            number(task, "local"),
            text(task, "cpus"),
        );
        (number(task, "task"), place)
    };
    list(&plan["tasks"]).iter().map(task).collect()
}

fn reported(cluster: &Cluster, nodes: &[String], request: &str) -> Tasks {
    let berth = berth_tests::command().to_string_lossy().into_owned();
    let script = format!("srun {request} {berth} report --format=json --wait=60");
    // The job's own number of tasks must not stand for the step's.
    let done = in_allocation(
        cluster,
        &["--exclusive", "-N4"],
        &format!("unset SLURM_NTASKS SLURM_NPROCS; {script}"),
    );
    let mut found = Tasks::new();
    for line in done.lines().filter(|line| line.starts_with('{')) {
        let task: Value = serde_json::from_str(line).expect("a task");
        assert_eq!(task["as_planned"], true, "{task}");
        let host = text(&task, "node");
        let node = nodes.iter().position(|name| *name == host).expect("a node");
        let place = (node as u64, number(&task, "local"), text(&task, "cpus"));
        found.insert(number(&task, "task"), place);
    }
    found
}

/// What is planned for a step over four nodes is what each of its tasks has.
pub fn planned_over_nodes() -> Outcome {
    let cluster = Cluster::builder().nodes(4).plugstack(Some("")).up();
    let names = cluster.run("sinfo", &["-h", "-N", "-o", "%N"]).expect_ok();
    let nodes: Vec<String> = names.lines().map(String::from).collect();
    for request in STEPS {
        let words: Vec<_> = request.split(' ').collect();
        let (plan, kernel) = (planned(&words), reported(&cluster, &nodes, request));
        assert_eq!(plan, kernel, "{request}");
        cluster.wait_idle();
    }
    Ok(())
}

/// Marks of a CPU that is offline, health, and counters.
pub fn health() -> Outcome {
    let cluster = berth();
    let state = cluster.folder().join("run/berth");
    let state = state.to_string_lossy().into_owned();
    let doctor = || berth_says(&["doctor", "--format=json", "--state-dir", &state]);
    let wrong = |document: &Value| {
        let checks = list(&document["checks"]).iter();
        let wrong = checks.filter(|check| check["verdict"] == "wrong");
        wrong.map(|check| text(check, "text")).collect::<Vec<_>>()
    };
    assert_eq!(wrong(&doctor()), Vec::<String>::new());
    cluster
        .srun(&["-n4", "--cpu-bind=cores", "true"])
        .expect_ok();
    cluster.wait_idle();
    // A step that looked for the machine may be counted as well.
    cluster.wait_for("the step to be counted", || {
        cluster.metric("tasks_bound").filter(|bound| *bound >= 4)
    });
    let topo = || berth_says(&["topo", "--format=json"]);
    assert_eq!(text(&topo(), "offline"), "");
    let offline = Offline::take("/sys/devices/system/cpu/cpu5/online");
    let without = topo();
    assert_eq!(text(&without, "offline"), "5");
    assert_eq!(list(&without["cores"])[2]["cpus"], serde_json::json!([4]));
    let shown = |format: &str| {
        let done = Command::new(berth_tests::command())
            .args(["topo", "--format", format])
            .output();
        String::from_utf8_lossy(&done.expect("berth").stdout).into_owned()
    };
    assert!(shown("tree").contains("offline CPUs, in no core: 5"));
    assert!(shown("svg").contains("offline CPUs, in no core: 5"));
    let table = shown("table");
    let row = |line: &str| line.split_whitespace().eq(["-", "-", "-", "5", "offline"]);
    assert!(table.lines().any(row), "{table}");
    let note = doctor();
    let file = list(&note["checks"])
        .iter()
        .find(|check| check["what"] == "machine file");
    assert_eq!(
        file.map(|check| text(check, "verdict")),
        Some("note".into()),
        "{note}"
    );
    drop(offline);
    assert_eq!(wrong(&doctor()), Vec::<String>::new());
    Ok(())
}
