//! `berth topo`: a node's counts, strings and pictures.

use std::path::Path;
use std::process::Command;

fn topo(arguments: &[&str]) -> String {
    let done = Command::new(env!("CARGO_BIN_EXE_berth"))
        .arg("topo")
        .args(arguments)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{arguments:?}: {said}");
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
