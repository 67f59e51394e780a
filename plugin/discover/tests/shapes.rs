//! Machines of every shape, as hwloc describes them, become berth's tree.
//! The files in `xml/` are hand-made, one oddity each.
//! Numbers in the tables were checked against lstopo.

use std::path::Path;

use berth_discover::{DiscoverError, Discovered, Source, discover};
use berth_placement::sets::ids::CoreIdx;
use berth_placement::{MachineError, SocketKind};

fn found(text: &str) -> Discovered {
    discover(&Source::parse(text).unwrap()).unwrap()
}

fn xml(name: &str) -> Discovered {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/xml");
    found(path.join(name).to_str().unwrap())
}

/// `S0,4 1|…`: OS numbers by package and core, in topology order.
fn cpus_by_core(found: &Discovered) -> String {
    let machine = &found.machine;
    let core_text = |core: &CoreIdx| {
        let pus = machine.pus_of(*core).iter();
        pus.map(ToString::to_string).collect::<Vec<_>>().join(",")
    };
    let sockets = machine.sockets(SocketKind::Package);
    let texts = sockets
        .iter()
        .map(|cores| cores.iter().map(core_text).collect::<Vec<_>>().join(" "));
    texts.collect::<Vec<_>>().join(" | ")
}

fn numa(found: &Discovered) -> String {
    let nodes = found.machine.parts().numa_nodes.iter();
    let texts = nodes.map(|node| format!("{}={}", node.id, node.cpus));
    texts.collect::<Vec<_>>().join(" ")
}

#[test]
fn synthetic_strings() {
    for (text, string, numa_text, l3_count) in [
        (
            "pack:2 core:4 pu:2",
            "SCTTCTTCTTCTTSCTTCTTCTTCTT",
            "0=0-15",
            0,
        ),
        ("pu:1", "SC", "0=0", 0),
        ("core:3 pu:1", "SCCC", "0=0-2", 0),
        ("pack:2 [numa] core:2 pu:1", "SCCSCC", "0=0-1 1=2-3", 0),
        ("pack:1 l3:2 core:2 pu:1", "SCCCC", "0=0-3", 2),
    ] {
        let found = found(text);
        let string_found = found.machine.topology_string(SocketKind::Package);
        assert_eq!(string_found, string, "{text}");
        assert_eq!(numa(&found), numa_text, "{text}");
        assert_eq!(found.machine.parts().l3_caches.len(), l3_count, "{text}");
        assert_eq!(found.machine.allowed(), found.machine.cpus(), "{text}");
        assert!(!found.this_system, "{text}");
        assert_eq!(found.source, format!("synthetic \"{text}\""));
    }
}

#[test]
fn os_numbers_are_kept_apart_from_topology_order() {
    let cyclic = found("pack:2 core:2 pu:2(indexes=pack:core)");
    assert_eq!(cpus_by_core(&cyclic), "0,4 2,6 | 1,5 3,7");
}

#[test]
fn more_cpus_than_any_fixed_mask_holds() {
    let large = found("pack:5 core:500 pu:2");
    assert_eq!(large.machine.cpus().count(), 5000);
    assert_eq!(large.machine.core_count(), 2500);
}

#[test]
fn without_packages_all_is_one_package() {
    let found = xml("no-package.xml");
    assert_eq!(cpus_by_core(&found), "0,4 2,6");
    assert_eq!(found.sockets.packages, 1);
    assert_eq!(found.machine.cpus().to_string(), "0,2,4,6");
}

#[test]
fn without_cores_each_hardware_thread_is_one() {
    let found = xml("no-core.xml");
    assert_eq!(cpus_by_core(&found), "0 2 | 1 3");
    assert_eq!(found.sockets.packages, 2);
}

#[test]
fn what_is_outside_every_package_comes_last_as_one_more() {
    let found = xml("outside-package.xml");
    assert_eq!(cpus_by_core(&found), "2,3 4,5 | 0,1 6 7");
}

#[test]
fn offline_cpus_are_missing_and_disallowed_ones_are_not() {
    let found = xml("offline-disallowed.xml");
    assert_eq!(cpus_by_core(&found), "0,4 1,5 2,6");
    assert_eq!(found.machine.cpus().to_string(), "0-2,4-6");
    assert_eq!(found.machine.allowed().to_string(), "1-2,5");
    assert_eq!(numa(&found), "0=0-2,4-6");
}

#[test]
fn uneven_packages_with_mixed_threads() {
    let found = xml("uneven.xml");
    assert_eq!(cpus_by_core(&found), "0,4 1 | 2,5 3,6 7 8");
    let l3_caches = &found.machine.parts().l3_caches;
    let texts: Vec<_> = l3_caches.iter().map(ToString::to_string).collect();
    assert_eq!(texts, ["0-1,4", "2,5", "3,6-8"]);
    assert_eq!(found.sockets.l3_caches, 3);
    assert_eq!(found.sockets.numa_parents, 2);
    assert_eq!(found.sockets.numa_parent_kind.as_deref(), Some("Package"));
}

#[test]
fn memory_without_cpus_of_its_own() {
    let found = xml("memory-only.xml");
    assert_eq!(numa(&found), "0=0-1 1=2-3 8=0-1 9=");
    assert_eq!(found.machine.memory_domains().len(), 2);
}

#[test]
fn what_hwloc_refuses_is_told_with_the_three_forms() {
    for text in [
        "garbage",
        "pack:0",
        "pack:2 core",
        "pack:-1",
        "pu:2 core:3",
        "(",
    ] {
        let why = discover(&Source::Synthetic(text.into())).unwrap_err();
        assert!(
            matches!(why, DiscoverError::BadSynthetic(_)),
            "{text}: {why}"
        );
        assert!(why.to_string().contains("\"live\""), "{why}");
    }
    let huge = discover(&Source::Synthetic("pack:65536 core:65536 pu:4".into()));
    assert!(matches!(huge, Err(DiscoverError::TooManyCpus(_))));
}

#[test]
fn a_cut_file_is_refused_wherever_it_was_cut() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/xml/uneven.xml");
    let whole = std::fs::read_to_string(path).unwrap();
    let end = whole.rfind("</topology>").unwrap();
    let dir = tempfile::tempdir().unwrap();
    let cut = dir.path().join("cut.xml");
    for length in (0..end).step_by(97) {
        std::fs::write(&cut, &whole[..length]).unwrap();
        let why = discover(&Source::XmlFile(cut.clone())).unwrap_err();
        assert!(matches!(why, DiscoverError::BadXml(_)), "{length}: {why}");
    }
}

#[test]
fn files_that_are_no_machine() {
    let dir = tempfile::tempdir().unwrap();
    let missing = discover(&Source::XmlFile(dir.path().join("missing")));
    assert!(matches!(missing, Err(DiscoverError::Unreadable { .. })));
    let directory = discover(&Source::XmlFile(dir.path().into()));
    assert!(matches!(directory, Err(DiscoverError::Unreadable { .. })));
    let binary = dir.path().join("binary");
    std::fs::write(&binary, [0, 0xff, b'<', 0, 7]).unwrap();
    let binary = discover(&Source::XmlFile(binary));
    assert!(matches!(binary, Err(DiscoverError::BadXml(_))));
    let huge = dir.path().join("huge");
    std::fs::File::create(&huge)
        .unwrap()
        .set_len((64 << 20) + 1)
        .unwrap();
    let huge = discover(&Source::XmlFile(huge));
    assert!(matches!(huge, Err(DiscoverError::TooLarge { .. })));
}

#[test]
fn errors_of_the_tree_keep_their_own_words() {
    let why = DiscoverError::from(MachineError::NoCpu);
    assert_eq!(why.to_string(), MachineError::NoCpu.to_string());
}
