//! `berth topo`: known machines, pictures, and the CPUs that this process may not use.

use std::fs;

use crate::run::{berth, plan, root};
use serde_json::Value;

fn topo(words: &[&str]) -> String {
    let done = berth(&[&["topo", "--machine"], words].concat(), "");
    assert_eq!(done.code, 0, "{words:?}: {}", done.stderr);
    done.stdout
}

/// A container sees the whole machine and may use a part of it.
#[test]
fn cpus_that_are_not_allowed_are_marked() {
    let xml = fs::read_to_string(root().join("tests/topologies/numa-in-socket.xml")).unwrap();
    let attribute = " allowed_cpuset=\"";
    let (before, rest) = xml.split_once(attribute).unwrap();
    let (_, after) = rest.split_once('"').unwrap();
    let file = tempfile::NamedTempFile::with_suffix(".xml").unwrap();
    let text = format!("{before}{attribute}0x00000003\"{after}");
    fs::write(file.path(), text).unwrap();
    let machine = file.path().to_str().unwrap();
    let tree = topo(&[machine, "--format=tree"]);
    assert!(tree.contains("N! not allowed here"), "{tree}");
    // CPUs 0 and 1 are the first core, and are the two that are allowed.
    assert!(tree.contains(" 0[  0   1]   1[ 2!  3!]"), "{tree}");
    let table = topo(&[machine]);
    assert!(table.contains("not allowed 2-"), "{table}");
    let svg = topo(&[machine, "--format=svg"]);
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
}

#[test]
fn known_machines_are_listed_and_planned_on() {
    let list = topo(&["list"]);
    let json: Value = serde_json::from_str(&topo(&["list", "--format=json"])).unwrap();
    let machines = json["machines"].as_array().unwrap();
    assert!(machines.len() > 10);
    for one in machines {
        let name = one["name"].as_str().unwrap();
        let number = |field: &str| one[field].to_string();
        let shape = ["sockets", "cores_per_socket", "threads_per_core"].map(number);
        let counts = ["numa_nodes", "l3_caches", "gpus"].map(number);
        let row = [&[name.to_string(), shape.join(":")][..], &counts].concat();
        let rows = list.lines();
        let mut rows = rows.map(|line| line.split_whitespace().take(5).collect::<Vec<_>>());
        assert!(rows.any(|shown| shown == row), "{row:?}: {list}");
        let done = plan(&format!("--machine {name} -n2 --cpu-bind=threads"));
        assert_eq!(done.code, 0, "{name}: {}", done.stderr);
        let place = format!("machine     {name} (");
        assert!(done.stdout.contains(&place), "{}", done.stdout);
        assert!(topo(&[name]).contains("the facts are from"), "{name}");
    }
}

#[test]
fn pictures_have_devices_beside_their_cores() {
    let machine = root().join("tests/machines/eas-tioga.xml");
    let tree = topo(&[machine.to_str().unwrap(), "--width=120", "--format=tree"]);
    let lines = tree.lines().map(|line| line.trim_matches(['│', ' ']));
    let lines: Vec<_> = lines.collect();
    let at = |begin: &str| lines.iter().position(|line| line.starts_with(begin));
    let (cache, gpu) = (at("NUMA node 3, L3 6"), at("gpu 0000:c1:00.0 (rsmi0)"));
    assert_eq!(gpu, cache.map(|at| at + 1), "{tree}");
    assert!(gpu.is_some() && gpu < at("48[ 48 112]"), "{tree}");
}
