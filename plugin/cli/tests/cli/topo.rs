//! `berth topo`: a node's counts, strings and pictures.

use std::path::Path;
use std::process::Command;

fn topo(arguments: &[&str]) -> String {
    let done = Command::new(env!("CARGO_BIN_EXE_berth"))
        .arg("topo")
        .args(arguments)
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{arguments:?}: {stderr}");
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn strings_and_counts() {
    let machine = ["--machine", "pack:2 numa:2 core:2 pu:2"];
    assert_eq!(
        topo(&[&machine[..], &["--format=string"]].concat()),
        "SCTTCTTCTTCTTSCTTCTTCTTCTT\n"
    );
    assert_eq!(
        topo(&[&machine[..], &["--format=string", "--socket=numa"]].concat()),
        "SCTTCTTSCTTCTTSCTTCTTSCTTCTT\n"
    );
    let table = topo(&machine);
    assert!(
        table.contains("counts      m_socket=2 m_core=8 m_thread=16"),
        "{table}"
    );
    let rows: Vec<_> = table
        .lines()
        .skip_while(|line| !line.starts_with("core "))
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(rows[0], "core socket NUMA CPUs");
    assert_eq!(rows[3], "2 0 1 4,5");
    assert_eq!(rows[8], "7 1 3 14,15");
    let json: serde_json::Value =
        serde_json::from_str(&topo(&[&machine[..], &["--format=json"]].concat())).unwrap();
    assert_eq!(json["format"], "berth-topo");
    assert_eq!(json["cores"][2]["numa_node"], 1);
    assert_eq!(json["shape"], serde_json::json!([2, 4, 2]));
}

/// A container sees the whole machine and may use a part of it.
#[test]
fn cpus_that_are_not_allowed_are_marked() {
    let known =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/topologies/numa-in-socket.xml");
    let xml = std::fs::read_to_string(known).unwrap();
    let attribute = " allowed_cpuset=\"";
    let at = xml.find(attribute).unwrap() + attribute.len();
    let end = at + xml[at..].find('"').unwrap();
    let file = tempfile::NamedTempFile::with_suffix(".xml").unwrap();
    std::fs::write(
        file.path(),
        format!("{}0x00000003{}", &xml[..at], &xml[end..]),
    )
    .unwrap();
    let machine = ["--machine", &file.path().to_string_lossy()];
    let tree = topo(&[&machine[..], &["--format=tree"]].concat());
    assert!(tree.contains("N! not allowed here"), "{tree}");
    // CPUs 0 and 1 are the first core, and are the two that are allowed.
    assert!(tree.contains(" 0[  0   1]   1[ 2!  3!]"), "{tree}");
    let table = topo(&machine);
    assert!(table.contains("not allowed 2-"), "{table}");
    let svg = topo(&[&machine[..], &["--format=svg"]].concat());
    assert!(
        svg.starts_with("<svg ") && svg.ends_with("</svg>\n"),
        "{svg}"
    );
}

/// A kind of object is counted where it tells something that sockets, cores and threads do not.
#[test]
fn objects_are_counted_where_they_say_something() {
    for (machine, line) in [
        (
            "pack:2 die:2 l3:2 l2:2 l1:2 core:1 pu:1",
            Some("4 dies, 8 L3 caches, 16 L2 caches"),
        ),
        // One die a package, one L3 cache a package, one L2 and L1 cache a core.
        ("pack:2 die:1 l3:1 l2:4 l1:1 core:1 pu:2", None),
        (
            "pack:1 die:2 l3:1 l2:2 core:2 pu:1",
            Some("2 dies, 4 L2 caches"),
        ),
        ("pack:2 core:2 pu:2", None),
    ] {
        let table = topo(&["--machine", machine]);
        let found = table
            .lines()
            .find_map(|found| found.strip_prefix("objects     "));
        assert_eq!(found, line, "{machine}");
        let json: serde_json::Value =
            serde_json::from_str(&topo(&["--machine", machine, "--format=json"])).unwrap();
        let cores = json["m_core"].as_u64().unwrap() as usize;
        assert_eq!(json["objects"]["cores"].as_array().unwrap().len(), cores);
    }
}

#[test]
fn devices_and_kinds_of_cores_are_shown() {
    let file = "../discover/tests/xml/hybrid-gpu.xml";
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let machine = ["--machine", &file.to_string_lossy()];
    let table = topo(&machine);
    let lines: Vec<_> = table.lines().collect();
    for line in [
        "objects     3 L2 caches",
        "core kind   CPUs 4-7: rank=0 CoreType=IntelAtom FrequencyMaxMHz=2500",
        "core kind   CPUs 0-3: rank=1 CoreType=IntelCore FrequencyMaxMHz=3800",
        "device   PCI           names             NUMA  CPUs",
        "network  0000:06:00.0  ib0,mlx5_0        0     0-7",
        "gpu      0000:17:00.0  card1,renderD128  0     0-7",
        "storage                sda               0     0-7",
    ] {
        assert!(lines.contains(&line), "{line}: {table}");
    }
    // The management controller's screen is nothing to be near to.
    assert!(!table.contains("0000:05:00.0"), "{table}");
    let json: serde_json::Value =
        serde_json::from_str(&topo(&[&machine[..], &["--format=json"]].concat())).unwrap();
    assert_eq!(json["kinds"][0]["infos"]["CoreType"], "IntelAtom");
    assert_eq!(json["devices"][0]["kind"], "other");
    assert_eq!(json["devices"][2]["vendor"], "10de");
}
