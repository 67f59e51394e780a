//! `berth report` in the tasks of real steps, and `berth doctor` beside a real slurmd.

use std::fs;
use std::process::Command;

use berth_tests::{Cluster, command};
use serde_json::Value;

fn cluster(nodes: u32, arguments: &str) -> Option<Cluster> {
    if !berth_tests::two_cpus() {
        return None;
    }
    Some(
        Cluster::builder()
            .nodes(nodes)
            .plugstack(Some(arguments))
            .up(),
    )
}

/// The lines that a step prints, one a task, in task order.
fn tasks(text: &str) -> Vec<Value> {
    let lines = text.lines().filter(|line| line.starts_with('{'));
    let mut tasks: Vec<Value> = lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    tasks.sort_by_key(|task| task["task"].as_u64());
    tasks
}

#[test]
#[expect(clippy::too_many_lines, reason = "one story of one cluster")]
fn each_task_says_what_it_has() {
    let Some(cluster) = cluster(2, "") else {
        return;
    };
    let berth = command().to_string_lossy().into_owned();
    let srun = |options: &[&str], words: &[&str]| {
        let report = [options, &[&berth, "report"], words].concat();
        cluster.srun(&report).expect_ok()
    };
    let text = srun(
        &["-N2", "-n4", "--cpu-bind=cores", "--mem-bind=local"],
        &["--format=json"],
    );
    let found = tasks(&text);
    let of = |name: &str| {
        found
            .iter()
            .map(|task| task[name].to_string())
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(of("task"), "0 1 2 3", "{text}");
    assert_eq!(of("local"), "0 1 0 1", "{text}");
    assert_eq!(of("cpus"), r#""0" "1" "0" "1""#, "{text}");
    assert_eq!(of("as_planned"), "true true true true", "{text}");
    assert_eq!(found[1]["memory"], "bind 0", "{text}");
    assert_eq!(found[1]["cores"], "1", "{text}");
    assert!(
        found[0]["node"] == found[1]["node"] && found[1]["node"] != found[2]["node"],
        "{text}"
    );
    // The whole step in task order, from the blocks.
    let file = cluster.folder().join("blocks");
    fs::write(&file, &text).unwrap();
    let merged = Command::new(command())
        .args(["report", "--check", "--merge"])
        .arg(&file)
        .output()
        .unwrap();
    let table = String::from_utf8(merged.stdout).unwrap();
    assert!(merged.status.success(), "{table}");
    let order: Vec<_> = table
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(order, ["0", "1", "2", "3"], "{table}");

    // Threads of a program that binds itself, within its plan and beyond it; its exit code.
    let program = |cpus: &str, move_to: &str| {
        let line = format!("taskset -pc {move_to} $$ > /dev/null; sleep 3; exit 7");
        let words = ["report", "--format=json", "--", "sh", "-c", &line];
        let bound = ["-n1", cpus, "--cpu-bind=cores", &berth];
        let done = cluster.srun(&[&bound[..], &words].concat());
        assert_eq!(done.code, Some(7), "{done:#?}");
        tasks(&done.stdout)[0].clone()
    };
    let inside = program("-c2", "1");
    assert_eq!(inside["as_planned"], true, "{inside}");
    assert_eq!(
        (&inside["cpus"], &inside["planned_cpus"]),
        (&"1".into(), &"0-1".into())
    );
    assert_eq!(inside["threads"], 2, "{inside}");
    let beyond = program("-c1", "0-1");
    assert_eq!(beyond["as_planned"], false, "{beyond}");
    let moved = cluster.srun(&[
        "-n1",
        "sh",
        "-c",
        &format!("taskset -pc 1 $$ > /dev/null; {berth} report --check"),
    ]);
    assert!(
        moved.stdout.contains("DIFFERS: planned CPUs 0"),
        "{moved:#?}"
    );
    assert_eq!(moved.code, Some(1), "{moved:#?}");

    // One of two says nothing; the other does not wait for ever.
    let alone = cluster.srun(&[
        "-n2",
        "-N1",
        "sh",
        "-c",
        &format!("[ $SLURM_LOCALID = 1 ] || {berth} report --wait 1"),
    ]);
    assert!(
        alone.stderr.contains("task 1 of") && alone.stderr.contains("did not answer"),
        "{alone:#?}"
    );
    let orphan = cluster.srun(&[
        "-n2",
        "-N1",
        "sh",
        "-c",
        &format!("[ $SLURM_LOCALID = 0 ] || {berth} report --wait 1"),
    ]);
    assert!(orphan.stdout.contains("1 task"), "{orphan:#?}");
}

fn doctor(cluster: &Cluster) -> (Vec<Value>, bool) {
    let done = Command::new(command())
        .args(["doctor", "--format=json", "--state-dir"])
        .arg(cluster.folder().join("run/berth"))
        .output()
        .unwrap();
    let checks = checks(&done.stdout);
    (checks, done.status.success())
}

fn checks(json: &[u8]) -> Vec<Value> {
    let document: Value = serde_json::from_slice(json).unwrap();
    assert_eq!(document["format"], "berth-doctor");
    document["checks"].as_array().unwrap().clone()
}

fn wrong(checks: &[Value]) -> Vec<String> {
    let wrong = checks.iter().filter(|check| check["verdict"] == "wrong");
    wrong.map(|check| check["text"].to_string()).collect()
}

#[test]
fn a_node_that_is_well() {
    let Some(well) = cluster(1, "") else { return };
    let (checks, is_well) = doctor(&well);
    assert!(is_well, "{checks:#?}");
    let plugin = checks
        .iter()
        .find(|check| check["what"] == "task plugin")
        .unwrap();
    assert!(
        plugin["text"].as_str().unwrap().contains("S:C:T"),
        "{plugin}"
    );

    // What steps leave for monitoring.
    well.srun(&["-n2", "--cpu-bind=cores", "true"]).expect_ok();
    well.srun(&["-n1", "-c2", "--cpu-bind=none", "true"])
        .expect_ok();
    assert!(!well.srun(&["-n1", "--cpu-bind=map_cpu:77", "true"]).ok());
    let counts = [
        "launches",
        "tasks_bound",
        "tasks_unbound",
        "refused",
        "readback_differences",
    ];
    let told = well.wait_for("both steps to be counted", || {
        let found: Option<Vec<_>> = counts.iter().map(|name| well.metric(name)).collect();
        found.filter(|found| found[0] == 2)
    });
    assert_eq!(told, [2, 2, 1, 1, 0]);

    well.restart_slurmd();
    assert!(doctor(&well).1, "after a restart");
}

#[test]
fn a_slurmd_that_is_gone_is_missed() {
    let Some(cluster) = cluster(1, "") else {
        return;
    };
    let state = cluster.folder().join("run/berth");
    let copy = tempfile::tempdir().unwrap();
    let copied = Command::new("cp")
        .arg("-a")
        .arg(&state)
        .arg(copy.path())
        .status();
    assert!(copied.unwrap().success());
    drop(cluster);
    let done = Command::new(command())
        .args(["doctor", "--format=json", "--state-dir"])
        .arg(copy.path().join("berth"))
        .output()
        .unwrap();
    let checks = checks(&done.stdout);
    let found = wrong(&checks);
    assert!(
        found
            .iter()
            .any(|text| text.contains("not running; last seen as")),
        "{found:?}"
    );
    assert_eq!(done.status.code(), Some(1));
}
