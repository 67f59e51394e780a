//! `berth plan --near` on real machines: what hwloc says is near. `facts/near.txt` has what centres publish.

use std::path::PathBuf;

use crate::run::{berth, plan, root};
use serde_json::Value;

/// The file of a machine: here, or where the developer has the others.
fn machine(name: &str) -> Option<String> {
    let others = std::env::var_os("BERTH_TOPOLOGIES").map(PathBuf::from);
    let folders = [Some(root().join("tests/machines")), others];
    let files = folders.into_iter().flatten();
    let mut files = files.map(|folder| folder.join(format!("{name}.xml")));
    let found = files.find(|file| file.exists())?;
    Some(found.display().to_string())
}

/// Every device of every machine has the neighbours that hwloc gives it, and a task near it gets no
/// others.
#[test]
fn neighbours_are_hwlocs() {
    let table = include_str!("../../../../tests/machines/nearest.txt");
    let rows: Vec<Vec<_>> = table.lines().map(|row| row.split(' ').collect()).collect();
    let mut looked = 0;
    for of_machine in rows.chunk_by(|one, other| one[0] == other[0]) {
        let Some(file) = machine(of_machine[0][0]) else {
            continue;
        };
        looked += 1;
        let topo = berth(&["topo", "--machine", &file, "--format=json"], "");
        let json: Value = serde_json::from_str(&topo.stdout).unwrap();
        let devices = json["devices"].as_array().unwrap();
        let wanted = ["gpu", "network"];
        let known = devices
            .iter()
            .filter(|device| wanted.contains(&device["kind"].as_str().unwrap()));
        let known: Vec<Vec<_>> = known
            .map(|device| {
                let name = device["pci"].as_str().or(device["names"][0].as_str());
                let of = [name, device["kind"].as_str(), device["cpus"].as_str()];
                of.map(Option::unwrap).to_vec()
            })
            .collect();
        let listed: Vec<_> = of_machine.iter().filter(|row| row[1] != "-").collect();
        let listed: Vec<Vec<_>> = listed.into_iter().map(|row| row[1..].to_vec()).collect();
        assert_eq!(known, listed, "{file}");
        for kind in wanted {
            let count = known.iter().filter(|device| device[1] == kind).count();
            if count > 0 {
                only_near(of_machine[0][0], kind, count);
            }
        }
    }
    assert!(looked >= 5, "{looked} machines");
}

/// Plans as many tasks as devices: each task's CPUs are next to its device.
fn only_near(name: &str, kind: &str, count: usize) {
    let file = machine(name).unwrap();
    let done = plan(&format!(
        "--machine {file} --cores all -n{count} --near={kind}:strict --format=json"
    ));
    assert_eq!(done.code, 0, "{name} {kind}: {}", done.stderr);
    let json: Value = serde_json::from_str(&done.stdout).unwrap();
    for task in json["tasks"].as_array().unwrap() {
        let set =
            |value: &Value| berth_placement::CpuSet::from_list(value.as_str().unwrap()).unwrap();
        let near = set(&task["devices"][0]["cpus"]);
        let got = set(&task["cpus"]);
        assert!(!got.is_empty() && got.is_subset(&near), "{name}: {task}");
    }
}
