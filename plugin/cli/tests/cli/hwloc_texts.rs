//! The reader of hwloc's texts beside hwloc itself: one machine from each file of the tests and of the folder that
//! `BERTH_TOPOLOGIES` names, and from descriptions.

use std::fs;
use std::path::{Path, PathBuf};

use berth_answer::hwloc::{NoMachine, machine_of_synthetic, machine_of_xml};
use berth_discover::{Source, discover};

fn files() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let own = ["tests/topologies", "plugin/discover/tests/xml"].map(|folder| root.join(folder));
    let others = std::env::var_os("BERTH_TOPOLOGIES").map(PathBuf::from);
    let folders = own.into_iter().chain(others);
    let entries = folders.flat_map(|folder| fs::read_dir(folder).unwrap().flatten());
    let is_xml = |path: &PathBuf| path.extension().is_some_and(|end| end == "xml");
    let mut files: Vec<_> = entries.map(|entry| entry.path()).filter(is_xml).collect();
    files.sort();
    files
}

#[test]
fn each_file_is_hwlocs_machine() {
    let files = files();
    assert!(files.len() >= 25, "{files:?}");
    let mut wrong = Vec::new();
    for path in files {
        let text = fs::read(&path).unwrap();
        let own = match machine_of_xml(&String::from_utf8_lossy(&text)) {
            Err(NoMachine::OldVersion) => continue,
            own => own.map_err(|why| why.to_string()),
        };
        let name = path.to_str().unwrap();
        let hwlocs = discover(&Source::parse(name).unwrap());
        match (own, hwlocs) {
            (Ok(own), Ok(hwlocs)) if own.parts() == hwlocs.machine.parts() => {}
            (Err(_), Err(_)) => {}
            (own, hwlocs) => {
                let own = own.map(|machine| format!("{:#?}", machine.parts()));
                let hwlocs = hwlocs.map(|found| format!("{:#?}", found.machine.parts()));
                let (own, hwlocs) = (own.unwrap_or_else(|why| why), format!("{hwlocs:#?}"));
                wrong.push(format!("{name}:\n{own}\n{hwlocs}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Read as it is, and as lstopo writes it.
#[test]
fn each_description_is_hwlocs_machine() {
    for text in [
        "pack:2 [numa] core:4 pu:2",
        "pack:1 l2:2 core:2 pu:1(indexes=0,2,1,3)",
        "group:2 [numa] pack:1 l3:2 core:2 pu:2",
        "[numa(memory=1GB)] pack:2 die:2 [numa] l3:2 l2:2 l1:2 core:1 pu:2",
        "pack:2 core:70 pu:1",
        "numa:4 core:3 pu:1",
        "pack:2 numa:2 core:1 pu:1",
        "pack:2 [numa] [numa] core:2 pu:1",
        "(memory=2GB) pack:2 [numa(memory=1GB indexes=1,0)] core:2 pu:2(indexes=7,6,5,4,3,2,1,0)",
        "l3:2 l2:2(size=1MB) l1:2 pu:1(indexes=0,4,2,6,1,5,3,7)",
        "Socket:2 L3Cache:1 L2Cache:3 Core:2",
    ] {
        let hwlocs = discover(&Source::parse(text).unwrap()).unwrap().machine;
        let own = machine_of_synthetic(text).unwrap_or_else(|why| panic!("{text}: {why}"));
        assert_eq!(own.parts(), hwlocs.parts(), "{text}");
        let mut lstopo = std::process::Command::new("lstopo-no-graphics");
        let Ok(written) = lstopo.args(["-i", text, "--of", "xml"]).output() else {
            return eprintln!("skipped: lstopo is not installed");
        };
        // lstopo refuses a description that ends in cores.
        if written.status.success() {
            let own = machine_of_xml(&String::from_utf8_lossy(&written.stdout));
            let own = own.unwrap_or_else(|why| panic!("{text}: {why}"));
            assert_eq!(own.parts(), hwlocs.parts(), "{text}");
        }
    }
}

#[test]
fn what_is_no_description_is_refused() {
    for (text, says) in [
        ("", "does not end with"),
        ("2 3 4", "\"2\" is no level"),
        ("pack:2 core:x pu:1", "\"core:x\" is no level"),
        ("pack:2 pu:1 core:2", "does not end with"),
        ("pack:0 pu:1", "\"pack:0\" is no level"),
        (
            "pack:4000000000 core:4000000000 pu:2",
            "more hardware threads",
        ),
        ("pack:1 pu:4(indexes=0,1,2,2)", "lists other numbers"),
        ("pack:1 pu:4(indexes=2*2:1*2)", "lists other numbers"),
        ("pack:1 pu:2(indexes=0,99999999)", "lists other numbers"),
    ] {
        let why = machine_of_synthetic(text).expect_err(text).to_string();
        assert!(why.contains(says), "{text}: {why}");
    }
}

#[test]
fn what_is_no_machine_is_refused() {
    let object = |inner: &str| format!("<topology version=\"2.0\">{inner}</topology>");
    let deepest = "<object>".repeat(1 << 20);
    let deep = format!(
        "{}{}",
        "<object type=\"Group\">".repeat(99),
        "</object>".repeat(99)
    );
    for (text, says) in [
        (String::new(), "no XML"),
        ("<html></html>".into(), "no machine of hwloc's"),
        ("<topology><object type=\"Machine\"/></topology>".into(), "hwloc 1 wrote"),
        (object(&deepest), "no XML"),
        (object(""), "no machine of hwloc's"),
        (object("<object type=\"Core\"/>"), "no machine of hwloc's"),
        (object("<object type=\"Machine\" cpuset=\"0x1\"/>"), "describes no machine"),
        (object(&format!("<object type=\"Machine\">{deep}</object>")), "more deeply"),
        (
            object("<object type=\"Machine\"><object type=\"PU\" os_index=\"99999999\"/></object>"),
            "which no machine has",
        ),
        (
            object("<object type=\"Machine\" cpuset=\"0xzz\"/>"),
            "which no machine has",
        ),
        (
            "<!DOCTYPE t [<!ENTITY a \"&b;&b;\"><!ENTITY b \"&a;\">]><topology version=\"2.0\">&a;</topology>".into(),
            "no XML",
        ),
    ] {
        let why = machine_of_xml(&text).expect_err(&text).to_string();
        assert!(why.contains(says), "{text}: {why}");
    }
}
