//! What a machine has: its objects, its letters, its kinds of cores, and other numbers for its CPUs.

use berth_placement::{
    CoreIdx, CoreKind, CpuSet, Device, Distances, ECores, Fixes, Machine, Node, Numbering,
    ObjectKind, Parts, SocketKind,
};

use crate::facts::lines::hold;
use crate::harness::ask::Ask;
use crate::harness::machine_text::{host, list, read};

/// A kind by its name.
fn kind(name: &str) -> ObjectKind {
    let kinds = ObjectKind::ALL.into_iter();
    let mut kinds = kinds.filter(|kind| format!("{kind:?}") == name);
    kinds
        .next()
        .unwrap_or_else(|| panic!("{name} is no part of a machine"))
}

/// A part of a machine: the CPUs of each.
fn part(machine: &Machine, name: &str) -> String {
    let cpus = |sets: &mut dyn Iterator<Item = &CpuSet>| {
        let texts: Vec<_> = sets.map(CpuSet::to_string).collect();
        texts.join(" ")
    };
    match name {
        "kinds" => cpus(&mut machine.kinds().iter().map(|kind| &kind.cpus)),
        "gpus" => cpus(&mut machine.devices().iter().map(|device| &device.cpus)),
        "isolated" => machine.isolated().to_string(),
        "order" => {
            let order = machine.parts().whole_order.iter();
            order.map(ToString::to_string).collect::<Vec<_>>().join(",")
        }
        "letters" => machine.topology_string(SocketKind::Package),
        "first core" => format!("{:?}", machine.pus_of(CoreIdx(0))),
        name => cpus(&mut machine.objects(kind(name)).iter()),
    }
}

/// How far each NUMA node is from each, or how far CPUs are from each other and the largest radius.
fn far(distances: &Distances, cpus: &str) -> String {
    if !cpus.is_empty() {
        let radius = distances.radius_of(&list(cpus));
        return format!("{radius} of {}", distances.largest());
    }
    let row = |one| {
        let row = (0..distances.len()).map(|other| distances.radius(one, other).to_string());
        row.collect::<Vec<_>>().join(" ")
    };
    let rows: Vec<_> = (0..distances.len()).map(row).collect();
    rows.join("/")
}

#[test]
fn parts_of_machines() {
    hold(include_str!("machines.txt"), |line, question| {
        if line == "wrong" {
            return read(question).err().expect("it is wrong").to_string();
        }
        let host = host(line);
        let (word, rest) = question.split_once(' ').unwrap_or((question, ""));
        match word {
            "in-use" => host
                .machine
                .topology_in_use(SocketKind::Package, &list(rest)),
            "threads-last" => {
                let last = host.machine.renumbered(Numbering::ThreadsLast);
                part(&last.unwrap(), rest)
            }
            "radii" | "radius" => {
                let node = Ask::default().node(&host.machine, host.kind, host.shape);
                far(node.distances(), rest)
            }
            "efficiency" => {
                let node = Ask::default().node(&host.machine, host.kind, host.shape);
                let cpus = node.efficiency_cpus();
                let cpus = cpus.map_or("none".into(), |cpus| cpus.to_string());
                format!("{cpus} of {} cores", node.shape().core_count())
            }
            _ => part(&host.machine, question),
        }
    });
    let parts = Parts {
        devices: vec![Device::default(); 4097],
        ..host("2x2x2").machine.parts().clone()
    };
    let why = Machine::new(parts).unwrap_err().to_string();
    assert!(why.contains("4097 devices"), "{why}");
}

#[test]
fn each_release_finds_the_performance_cores_in_its_own_way() {
    let kind = |cpus: &str, infos: &[(&str, &str)]| CoreKind {
        cpus: list(cpus),
        rank: None,
        infos: infos
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect(),
    };
    let with_kinds = |line: &str, kinds| {
        let parts = host(line).machine.parts().clone();
        Machine::new(Parts { kinds, ..parts }).unwrap()
    };
    let megahertz = |text| ("FrequencyMaxMHz", text);
    let kinds = vec![
        kind("6", &[("CoreType", "IntelAtom"), megahertz("3800")]),
        kind("0-1", &[("coretype", "intelcore"), megahertz("4900")]),
        kind("2-3", &[("CoreType", "IntelCore"), megahertz("5000")]),
        kind("4", &[megahertz("4900")]),
        kind("5", &[megahertz("5000")]),
    ];
    let machine = with_kinds("0 1 2 3 4 5 6", kinds);
    for (release, kept) in [
        (ECores::FirstKind, "0-1"),
        (ECores::SameFrequency, "0-1,4"),
        (ECores::AnyFrequency, "0-5"),
    ] {
        let found = machine
            .without_ecores(release)
            .map(|part| part.cpus().clone());
        assert_eq!(found, Some(list(kept)), "{release:?}");
    }
    // Other chips with cores of two kinds stay whole, and so does one without small cores.
    let other = vec![kind("0", &[megahertz("2000")]), kind("1", &[])];
    let all = vec![kind("0-1", &[("CoreType", "IntelCore")])];
    for kinds in [other, all, Vec::new()] {
        let machine = with_kinds("0 1", kinds);
        let found = ECores::ALL.map(|release| machine.without_ecores(release));
        assert_eq!(found, [None, None, None]);
    }
}

/// `compat=affinity` follows slurmd's map, and so do Slurm's cgroups.
#[test]
fn task_affinity_has_nothing_outside_of_cgroups() {
    for line in [
        "0,1 2,3 4,5 6,7 | 8,9 10,11 12,13 14",
        "0,1 2,3 4,5 6,7 | 8,9 12,13 14,15",
        "0,1 2,3 4,5 6,7 8 9 10 11 12 13 14 15",
        "0,16 4,20 8,24 12,28 | 2,18 6,22 10,26 14,30",
        "0 2 4 6 8 10 12 14",
    ] {
        let node = |constrain_cores| {
            let mut ask = Ask::default();
            ask.rules.fixes = Fixes::NONE;
            ask.rules.constrain_cores = constrain_cores;
            ask.node(&host(line).machine, SocketKind::Package, None)
        };
        let cpus = |node: &Node| node.table().numbered().collect::<Vec<_>>();
        assert_eq!(cpus(&node(true)), cpus(&node(false)), "{line}");
        assert_eq!(node(true).outside_cgroups(), None, "{line}");
    }
}
