//! Objects that slurmd's filters drop are found by the second load, and nest as hwloc has them: laws on random machines, and
//! on every file of `tests/topologies` and of the folder that `BERTH_TOPOLOGIES` names.

mod common;

use std::path::{Path, PathBuf};

use berth_discover::{Discovered, Source, discover};
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
