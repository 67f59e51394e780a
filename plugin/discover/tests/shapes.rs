//! Machines of every shape, as hwloc describes them, become berth's tree.
//! The files in `xml/` are hand-made, one oddity each.
//! Numbers in the tables were checked against lstopo.

#[path = "common/facts.rs"]
mod facts;

use std::path::Path;

use berth_discover::{DiscoverError, Discovered, Source, discover, probe_devices};
use berth_placement::sets::ids::CoreIdx;
use berth_placement::{CpuSet, Device, Machine, MachineError, Node, ObjectKind, Rules, SocketKind};

/// A file of the folder, or else a synthetic text.
fn source(text: &str) -> Source {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/xml");
    match text.ends_with(".xml") {
        true => Source::XmlFile(path.join(text)),
        false => Source::parse(text).unwrap(),
    }
}

fn joined<T: ToString>(parts: impl IntoIterator<Item = T>, between: &str) -> String {
    let parts: Vec<_> = parts.into_iter().map(|part| part.to_string()).collect();
    parts.join(between)
}

/// The CPUs of the objects of a kind.
fn objects(machine: &Machine, name: &str) -> Vec<CpuSet> {
    let kinds = ObjectKind::ALL.into_iter();
    let mut kinds = kinds.filter(|kind| format!("{kind:?}") == name);
    let kind = kinds.next().unwrap_or_else(|| panic!("{name}: no part"));
    machine.objects(kind)
}

/// OS numbers by package and core, in topology order: `0,4 1 | 2`.
fn cores(machine: &Machine) -> String {
    let core = |core: &CoreIdx| joined(machine.pus_of(*core), ",");
    let sockets = machine.sockets(SocketKind::Package);
    joined(
        sockets
            .iter()
            .map(|cores| joined(cores.iter().map(core), " ")),
        " | ",
    )
}

fn device(device: &Device) -> String {
    let address = device.pci.map(|pci| pci.address.to_string());
    let address = address.unwrap_or("-".into());
    let node = device.numa_node.map(|node| format!(", NUMA node {node}"));
    let (names, node) = (device.names.join(" "), node.unwrap_or_default());
    format!(
        "{} {address} {names} at {}{node}",
        device.kind.name(),
        device.cpus
    )
}

fn radii(machine: Machine) -> String {
    let node = Node::of(machine, SocketKind::Package, Rules::default());
    let here = node.distances();
    let row = |one| joined((0..here.len()).map(|other| here.radius(one, other)), ",");
    joined((0..here.len()).map(row), " ")
}

/// A part of what is found.
fn part(found: Discovered, name: &str) -> String {
    let machine = &found.machine;
    match name {
        "letters" => machine.topology_string(SocketKind::Package),
        "cores" => cores(machine),
        "cpus" => machine.cpus().to_string(),
        "allowed" => machine.allowed().to_string(),
        "numa" => {
            let nodes = machine.parts().numa_nodes.iter();
            joined(nodes.map(|node| format!("{}={}", node.id, node.cpus)), " ")
        }
        "domains" => machine.memory_domains().len().to_string(),
        "distances" => {
            let rows = machine.parts().numa_distances.iter();
            joined(rows.map(|row| joined(row, ",")), " ")
        }
        "radii" => radii(found.machine),
        "kinds" => {
            let kind = |kind: &berth_placement::CoreKind| {
                let (rank, name) = (kind.rank.unwrap(), kind.info("CoreType").unwrap());
                format!("{} of rank {rank}, {name}", kind.cpus)
            };
            joined(machine.kinds().iter().map(kind), "; ")
        }
        "devices" => joined(machine.devices().iter().map(device), "; "),
        "source" => match found.this_system {
            true => found.source,
            false => format!("{}, another system", found.source),
        },
        name => match name.strip_prefix("count ") {
            Some(name) => {
                let all = objects(machine, name);
                let first = all.first().map_or("none".into(), CpuSet::to_string);
                format!("{}, first {first}", all.len())
            }
            None => joined(objects(machine, name), " "),
        },
    }
}

/// The name of an error and its text.
fn refused(text: &str) -> String {
    let why = discover(&Source::Synthetic(text.into())).unwrap_err();
    let name = format!("{why:?}");
    let name = name.split(['(', ' ']).next().unwrap_or_default();
    format!("{name}: {why}")
}

#[test]
fn shapes() {
    facts::hold(include_str!("shapes.txt"), |text, question| match text {
        "wrong" => refused(question),
        text => part(discover(&source(text)).unwrap(), question),
    });
}

/// Devices of this host are left to a process of their own.
#[test]
fn devices_are_probed_by_themselves() {
    let file = source("hybrid-gpu.xml");
    let machine = discover(&file).unwrap().machine;
    assert_eq!(probe_devices(&file, false).unwrap(), machine.devices());
    let live = discover(&Source::Live).unwrap();
    assert!(live.machine.devices().is_empty() || !live.unprobed);
    let synthetic = source("pack:1 core:2 pu:1");
    assert!(!discover(&synthetic).unwrap().unprobed);
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
