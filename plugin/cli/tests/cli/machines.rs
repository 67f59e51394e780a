//! The machines that are known by a name, and the numbers of CPUs on synthetic ones.

use crate::plan_common::{berth, plan};

#[test]
fn known_machines_are_listed_and_planned_on() {
    let list = berth(&["topo", "--machine", "list"], "");
    assert_eq!(list.code, 0, "{}", list.stderr);
    for name in [
        "lumi-g",
        "lumi-c",
        "frontier",
        "perlmutter-gpu",
        "archer2",
        "2x64-smt2",
    ] {
        assert!(list.stdout.contains(name), "{name}: {}", list.stdout);
    }
    let json = berth(&["topo", "--machine=list", "--format=json"], "");
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    for one in json["machines"].as_array().unwrap() {
        let name = one["name"].as_str().unwrap();
        let number = |field: &str| one[field].to_string();
        let shape = ["sockets", "cores_per_socket", "threads_per_core"].map(number);
        let counts = ["numa_nodes", "l3_caches", "gpus"].map(number);
        let row = [&[name.to_string(), shape.join(":")][..], &counts].concat();
        let rows = list.stdout.lines();
        let mut rows = rows.map(|line| line.split_whitespace().take(5).collect::<Vec<_>>());
        assert!(rows.any(|shown| shown == row), "{row:?}: {}", list.stdout);
        let done = berth(
            &["plan", "--machine", name, "-n2", "--cpu-bind=threads"],
            "",
        );
        assert_eq!(done.code, 0, "{name}: {}", done.stderr);
        assert!(
            done.stdout.contains(&format!("machine     {name} (")),
            "{}",
            done.stdout
        );
        let topo = berth(&["topo", "--machine", name], "");
        assert!(
            topo.stdout.contains("the facts are from"),
            "{}",
            topo.stdout
        );
    }
    // Two threads of a core have numbers far apart.
    let cores = plan("--machine lumi-c -n2 --cpu-bind=cores --cores all --format cpus");
    assert_eq!(cores.stdout, "0,128\n64,192\n");
    let near = plan("--machine lumi-g -n8 --near=gpu --cores all --format cpus");
    assert_eq!(
        near.stdout.lines().next(),
        Some("48-55,112-119"),
        "{}",
        near.stderr
    );
}

#[test]
fn cpu_numbers_on_a_synthetic_machine_get_a_note() {
    let says = "most servers number second threads last (0,8), as --numbering threads-last does";
    for (options, is_noted) in [
        ("-n1 --cpu-bind=map_cpu:3", true),
        ("-n1 --cpu-bind=mask_cpu:0x3", true),
        ("-n1 --cpus 0-3", true),
        ("-n1 --cpu-bind=cores", false),
        ("-n1 --cpu-bind=map_cpu:3 --numbering threads-last", false),
        ("-n1 --cpu-bind=map_cpu:3 --numbering block", false),
    ] {
        let done = berth(
            &[
                &["plan", "--machine=pack:2 core:4 pu:2", "--cores=all"][..],
                &options.split(' ').collect::<Vec<_>>(),
            ]
            .concat(),
            "",
        );
        let done = match options.contains("--cpus") {
            true => berth(
                &["plan", "--machine=pack:2 core:4 pu:2", "-n1", "--cpus=0-3"],
                "",
            ),
            false => done,
        };
        assert_eq!(
            done.stderr.contains(says),
            is_noted,
            "{options}: {}",
            done.stderr
        );
        assert_eq!(done.code, 0, "{options}: {}", done.stderr);
    }
    let plain = plan("--machine pu:8 -n1 --cpu-bind=map_cpu:3 --cores all");
    assert!(!plain.stderr.contains("numbering"), "{}", plain.stderr);
}
