//! What slurmd's filters drop is found by the second look, and nests as hwloc has it: facts on
//! hand-made machines, laws on random ones and on every file of `tests/topologies` and of the
//! folder that `BERTH_TOPOLOGIES` names.

mod common;

use std::path::{Path, PathBuf};

use berth_discover::{Discovered, Source, discover, probe_devices};
use berth_host::{MachineFile, Proof, machine_file};
use berth_placement::*;
use proptest::prelude::*;

/// Kinds that hwloc has in one tree; memory domains are beside it.
const TREE: [ObjectKind; 6] = [
    ObjectKind::Package,
    ObjectKind::Die,
    ObjectKind::L3,
    ObjectKind::L2,
    ObjectKind::L1,
    ObjectKind::Core,
];

fn found(text: &str) -> Discovered {
    discover(&Source::parse(text).unwrap()).unwrap_or_else(|why| panic!("{text}: {why}"))
}

fn texts(machine: &Machine, kind: ObjectKind) -> Vec<String> {
    machine
        .objects(kind)
        .iter()
        .map(CpuSet::to_string)
        .collect()
}

fn hybrid() -> Machine {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/xml/hybrid-gpu.xml");
    found(file).machine
}

#[test]
fn every_level_of_a_machine_is_found() {
    let machine = found("pack:2 die:2 l3:2 l2:2 l1:2 core:1 pu:2").machine;
    for (kind, count, first) in [
        (ObjectKind::Package, 2, "0-31"),
        (ObjectKind::Die, 4, "0-15"),
        (ObjectKind::Numa, 1, "0-63"),
        (ObjectKind::L3, 8, "0-7"),
        (ObjectKind::L2, 16, "0-3"),
        (ObjectKind::L1, 32, "0-1"),
        (ObjectKind::Core, 32, "0-1"),
        (ObjectKind::Pu, 64, "0"),
    ] {
        let objects = texts(&machine, kind);
        assert_eq!((objects.len(), &*objects[0]), (count, first), "{kind:?}");
    }
}

/// The first L2 cache has CPUs 0 and 2. slurmd leaves L2 caches out and then counts cores by
/// number; the whole topology has the cores of one cache side by side.
#[test]
fn slurmds_order_and_that_of_the_whole_topology_are_both_kept() {
    let machine = found("pack:1 l2:2 core:2 pu:1(indexes=0,2,1,3)").machine;
    let slurmds: Vec<_> = (0..4)
        .map(|core| machine.pus_of(CoreIdx(core))[0].0)
        .collect();
    assert_eq!(slurmds, [0, 1, 2, 3]);
    assert_eq!(texts(&machine, ObjectKind::L2), ["0,2", "1,3"]);
    assert_eq!(texts(&machine, ObjectKind::Core), ["0", "2", "1", "3"]);
    assert_eq!(texts(&machine, ObjectKind::Pu), ["0", "2", "1", "3"]);
}

#[test]
fn kinds_of_cores_and_devices_come_from_the_file() {
    let machine = hybrid();
    assert_eq!(texts(&machine, ObjectKind::L2), ["0-1", "2-3", "4-7"]);
    let kinds: Vec<_> = machine
        .kinds()
        .iter()
        .map(|kind| {
            (
                kind.cpus.to_string(),
                kind.rank,
                kind.info("CoreType").unwrap(),
            )
        })
        .collect();
    let slow = ("4-7".to_string(), Some(0), "IntelAtom");
    assert_eq!(kinds, [slow, ("0-3".into(), Some(1), "IntelCore")]);
    assert_eq!(machine.kind_of(CpuId(3)), Some(1));
    let devices: Vec<_> = machine
        .devices()
        .iter()
        .map(|device| {
            let address = device.pci.map(|pci| pci.address.to_string());
            (
                device.kind.name(),
                address.unwrap_or_default(),
                device.names.join(" "),
            )
        })
        .collect();
    let device = |kind, address: &str, names: &str| (kind, address.into(), names.into());
    assert_eq!(
        devices,
        [
            device("other", "0000:05:00.0", "card0"),
            device("network", "0000:06:00.0", "ib0 mlx5_0"),
            device("gpu", "0000:17:00.0", "card1 renderD128"),
            device("storage", "", "sda"),
        ]
    );
    let gpu = &machine.devices()[2];
    assert_eq!(
        (gpu.cpus.to_string(), gpu.numa_node),
        ("0-7".into(), Some(NumaId(0)))
    );
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/xml/hybrid-gpu.xml");
    let probed = probe_devices(&Source::parse(file).unwrap(), false).unwrap();
    assert_eq!(probed, machine.devices());
}

/// Devices of this host are left to a process of their own.
#[test]
fn this_hosts_devices_are_not_probed_in_passing() {
    let live = discover(&Source::Live).unwrap();
    assert!(live.machine.devices().is_empty() || !live.unprobed);
    assert!(!found("pack:1 core:2 pu:1").unprobed);
}

fn is_laminar(one: &CpuSet, other: &CpuSet) -> bool {
    !one.intersects(other) || one.is_subset(other) || other.is_subset(one)
}

/// What holds for every machine.
fn check(machine: &Machine, name: &str) {
    let order: Vec<CpuId> = machine
        .objects(ObjectKind::Pu)
        .iter()
        .map(|cpu| cpu.lowest().unwrap())
        .collect();
    let place = |cpus: &CpuSet| order.iter().position(|cpu| cpus.contains(*cpu)).unwrap();
    let all = ObjectKind::ALL.map(|kind| (kind, machine.objects(kind)));
    for (kind, sets) in &all {
        for set in sets {
            assert!(
                !set.is_empty() && set.is_subset(machine.cpus()),
                "{name}: {kind:?} {set}"
            );
        }
        if *kind == ObjectKind::Numa {
            continue;
        }
        let places: Vec<_> = sets.iter().map(place).collect();
        assert!(places.is_sorted(), "{name}: {kind:?} in another order");
        let count: usize = sets.iter().map(CpuSet::count).sum();
        let union = sets.iter().fold(CpuSet::new(), |mut union, set| {
            union.insert_all(set);
            union
        });
        assert_eq!(union.count(), count, "{name}: {kind:?} share a CPU");
        if matches!(
            kind,
            ObjectKind::Package | ObjectKind::Core | ObjectKind::Pu
        ) {
            assert_eq!(union, *machine.cpus(), "{name}: {kind:?}");
        }
    }
    let tree = all.iter().filter(|(kind, _)| TREE.contains(kind));
    let sets: Vec<_> = tree.flat_map(|(_, sets)| sets).collect();
    for (at, one) in sets.iter().enumerate() {
        let across = sets[at..].iter().find(|other| !is_laminar(one, other));
        assert_eq!(across, None, "{name}: {one} lies across it");
    }
    for kind in machine.kinds() {
        assert!(kind.cpus.is_subset(machine.cpus()), "{name}");
    }
}

/// Written down and read again, it is the same.
fn round_trip(found: Discovered, name: &str) {
    let proof = Proof {
        boot_id: "0".into(),
        online: "0".into(),
    };
    let written = MachineFile::new(found.machine, found.this_system, found.source, proof);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(machine_file::NAME);
    machine_file::write(&path, &written).unwrap();
    assert_eq!(machine_file::read(&path).unwrap(), written, "{name}");
}

#[test]
fn laws_of_machines_in_files() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = [own.join("../../tests/topologies"), own.join("tests/xml")];
    let more = std::env::var_os("BERTH_TOPOLOGIES").map(PathBuf::from);
    let mut seen = 0;
    for folder in folders.into_iter().chain(more) {
        for entry in std::fs::read_dir(folder).expect("a folder of topologies") {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|kind| kind == "xml") {
                let name = path.to_string_lossy().into_owned();
                let found = found(&name);
                assert_eq!(found.notes, Vec::<String>::new(), "{name}");
                check(&found.machine, &name);
                round_trip(found, &name);
                seen += 1;
            }
        }
    }
    assert!(seen >= 15, "the project's own files are there");
}

/// A synthetic machine with some of the levels, whose CPUs are numbered anyhow.
fn machines() -> impl Strategy<Value = String> {
    let levels = ["pack", "numa", "die", "l3", "l2", "l1", "core", "pu"];
    let counts = proptest::collection::vec(0u32..4, levels.len());
    (counts, any::<u64>()).prop_map(move |(counts, seed)| {
        let mut text = String::new();
        let mut total = 1;
        for (level, count) in levels.iter().zip(counts) {
            // A level with count 0 is not there; threads always are.
            let count = if *level == "pu" {
                count.clamp(1, 2)
            } else {
                count
            };
            if count > 0 && total * count <= 64 {
                total *= count;
                text += &format!("{level}:{count} ");
            } else if *level == "pu" {
                text += "pu:1 ";
            }
        }
        let mut numbers: Vec<u32> = (0..total).collect();
        numbers.sort_by_key(|number| {
            seed.wrapping_mul(2 * u64::from(*number) + 1)
                .rotate_left(17)
        });
        let numbers: Vec<_> = numbers.iter().map(u32::to_string).collect();
        format!("{}(indexes={})", text.trim_end(), numbers.join(","))
    })
}

proptest! {
    #![proptest_config(common::config(300))]

    #[test]
    fn laws_of_random_machines(text in machines()) {
        let found = found(&text);
        check(&found.machine, &text);
        round_trip(found, &text);
    }
}
