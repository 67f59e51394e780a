//! The objects of each kind, on machines whose kinds nest oddly: facts as machine, kind, sets.

use berth_placement::*;

fn sets(lists: &[&str]) -> Vec<CpuSet> {
    lists
        .iter()
        .map(|list| CpuSet::from_list(list).unwrap())
        .collect()
}

fn texts(machine: &Machine, kind: ObjectKind) -> Vec<String> {
    machine
        .objects(kind)
        .iter()
        .map(CpuSet::to_string)
        .collect()
}

/// Two packages of two cores of two threads; slurmd's order is by number.
fn parts() -> Parts {
    let core = |first: u32| Core {
        pus: vec![CpuId(first), CpuId(first + 1)],
    };
    let package = |first: u32| Package {
        cores: vec![core(first), core(first + 2)],
    };
    Parts {
        packages: vec![package(0), package(4)],
        allowed: CpuSet::first(8),
        ..Parts::default()
    }
}

fn node(id: u32, list: &str) -> NumaNode {
    NumaNode {
        id: NumaId(id),
        cpus: CpuSet::from_list(list).unwrap(),
    }
}

#[test]
fn what_nobody_reported_is_not_there() {
    let machine = Machine::new(parts()).unwrap();
    for (kind, found) in [
        (ObjectKind::Package, &["0-3", "4-7"][..]),
        (ObjectKind::Die, &[]),
        (ObjectKind::L3, &[]),
        (ObjectKind::L2, &[]),
        (ObjectKind::L1, &[]),
        (ObjectKind::Core, &["0-1", "2-3", "4-5", "6-7"]),
        (ObjectKind::Pu, &["0", "1", "2", "3", "4", "5", "6", "7"]),
        // CPUs in no NUMA node form one domain.
        (ObjectKind::Numa, &["0-7"]),
    ] {
        assert_eq!(texts(&machine, kind), found, "{kind:?}");
    }
    assert!(machine.kinds().is_empty() && machine.devices().is_empty());
}

#[test]
fn kinds_nest_as_the_machine_has_them() {
    let machine = Machine::new(Parts {
        // One NUMA node spans both packages, another one is inside it, and a third has no CPU.
        numa_nodes: vec![node(0, "0-7"), node(1, "4-5"), node(7, "")],
        // Cores 6-7 are under no L3 cache; CPUs 8 and 9 are offline.
        l3_caches: sets(&["0-3", "4-5,8", "9"]),
        l2_caches: sets(&["0-3", "4-7"]),
        ..parts()
    })
    .unwrap();
    assert_eq!(texts(&machine, ObjectKind::Numa), ["0-7", "4-5"]);
    assert_eq!(texts(&machine, ObjectKind::L3), ["0-3", "4-5"]);
    assert_eq!(texts(&machine, ObjectKind::L2), ["0-3", "4-7"]);
}

/// An L2 cache over cores whose numbers are no neighbours: hwloc puts these cores side by side,
/// and slurmd, which leaves L2 caches out, does not.
#[test]
fn objects_stand_in_the_order_of_the_whole_topology() {
    let whole_order = [4, 5, 6, 7, 0, 1, 2, 3].map(CpuId).to_vec();
    let machine = Machine::new(Parts {
        l3_caches: sets(&["0-3", "4-7"]),
        whole_order,
        ..parts()
    })
    .unwrap();
    assert_eq!(texts(&machine, ObjectKind::Package), ["4-7", "0-3"]);
    assert_eq!(texts(&machine, ObjectKind::L3), ["4-7", "0-3"]);
    let cores = ["4-5", "6-7", "0-1", "2-3"];
    assert_eq!(texts(&machine, ObjectKind::Core), cores);
    let threads = ["4", "5", "6", "7", "0", "1", "2", "3"];
    assert_eq!(texts(&machine, ObjectKind::Pu), threads);
    assert_eq!(
        machine.pus_of(CoreIdx(0)),
        [CpuId(0), CpuId(1)],
        "slurmd's order stays"
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn one_cpu_is_in_one_object_of_a_kind() {
    for (wrong, told) in [
        (
            Parts {
                dies: sets(&["0-3", "3-4"]),
                ..parts()
            },
            "CPU 3 in two dies",
        ),
        (
            Parts {
                l3_caches: sets(&["0-3", "0"]),
                ..parts()
            },
            "CPU 0 in two L3 caches",
        ),
        (
            Parts {
                l2_caches: sets(&["1", "1"]),
                ..parts()
            },
            "CPU 1 in two L2 caches",
        ),
        (
            Parts {
                l1_caches: sets(&["0-7", "7"]),
                ..parts()
            },
            "CPU 7 in two L1 caches",
        ),
        (
            Parts {
                kinds: sets(&["0-4", "4-7"])
                    .into_iter()
                    .map(|cpus| CoreKind {
                        cpus,
                        ..CoreKind::default()
                    })
                    .collect(),
                ..parts()
            },
            "CPU 4 in two kinds of cores",
        ),
        (
            Parts {
                devices: vec![Device::default(); 4097],
                ..parts()
            },
            "4097 devices",
        ),
    ] {
        let found = Machine::new(wrong).unwrap_err().to_string();
        assert!(found.contains(told), "{found}");
    }
}

#[test]
fn other_numbers_reach_every_part() {
    let machine = Machine::new(Parts {
        numa_nodes: vec![node(0, "0-3"), node(1, "4-7")],
        l3_caches: sets(&["0-3", "4-7"]),
        dies: sets(&["0-3", "4-7"]),
        l2_caches: sets(&["0-1", "2-3", "4-5", "6-7"]),
        l1_caches: sets(&["0-1", "2-3", "4-5", "6-7"]),
        whole_order: (0..8).map(CpuId).collect(),
        kinds: vec![CoreKind {
            cpus: CpuSet::from_list("2-3").unwrap(),
            ..CoreKind::default()
        }],
        isolated: CpuSet::from_list("7").unwrap(),
        devices: vec![Device {
            cpus: CpuSet::from_list("4-7").unwrap(),
            ..Device::default()
        }],
        ..parts()
    })
    .unwrap();
    let last = machine.renumbered(Numbering::ThreadsLast).unwrap();
    for kind in [ObjectKind::L1, ObjectKind::L2, ObjectKind::Core] {
        assert_eq!(texts(&last, kind), ["0,4", "1,5", "2,6", "3,7"], "{kind:?}");
    }
    for kind in [
        ObjectKind::Package,
        ObjectKind::Die,
        ObjectKind::Numa,
        ObjectKind::L3,
    ] {
        assert_eq!(texts(&last, kind), ["0-1,4-5", "2-3,6-7"], "{kind:?}");
    }
    assert_eq!(
        texts(&last, ObjectKind::Pu),
        ["0", "4", "1", "5", "2", "6", "3", "7"]
    );
    assert_eq!(last.kinds()[0].cpus.to_string(), "1,5");
    assert_eq!(last.isolated().to_string(), "7");
    assert_eq!(last.devices()[0].cpus.to_string(), "2-3,6-7");
    let back = last.parts().whole_order.iter().map(|cpu| cpu.0);
    assert_eq!(back.collect::<Vec<_>>(), [0, 4, 1, 5, 2, 6, 3, 7]);
}

/// A node's hardware threads by the objects of a kind; those outside are one past the last.
#[test]
fn hardware_threads_by_object() {
    let machine = Machine::new(Parts {
        l3_caches: sets(&["0-3", "6-7"]),
        numa_nodes: vec![node(0, "0-7"), node(1, "4-5")],
        ..parts()
    });
    let node = Node::of(machine.unwrap(), SocketKind::Package, Rules::default());
    let of = |kind| {
        let domains = node.domains(kind);
        let objects: Vec<u32> = (0..8).map(|pu| domains.of(PuIdx(pu))).collect();
        let widths: Vec<usize> = domains.iter().map(<[_]>::len).collect();
        (objects, widths)
    };
    assert_eq!(
        of(ObjectKind::L3),
        (vec![0, 0, 0, 0, 2, 2, 1, 1], vec![4, 2])
    );
    assert_eq!(
        of(ObjectKind::Numa),
        (vec![0, 0, 0, 0, 1, 1, 0, 0], vec![6, 2])
    );
    assert_eq!(of(ObjectKind::Core).1, vec![2; 4]);
    assert_eq!(of(ObjectKind::Die), (vec![0; 8], vec![]));
}
