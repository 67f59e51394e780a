//! What a machine has: its objects, its letters, its kinds of cores, and other numbers for its CPUs.

use berth_placement::ObjectKind::{Core, Die, L1, L2, L3, Numa, Package, Pu};
use berth_placement::{
    CoreIdx, CoreKind, CpuId, CpuSet, Device, ECores, Fixes, Machine, Node, Numbering, ObjectKind,
    Parts, SocketKind,
};

use crate::harness::ask::Ask;
use crate::harness::machine_text::{host, list};

/// Two packages of two cores of two threads, of which nothing else is reported.
const BARE: &str = "0,1 2,3 | 4,5 6,7; numa; l3";

/// One NUMA node spans both packages, another one is inside it, and a third has no CPU. Cores 6-7 are under no L3
/// cache; CPUs 8 and 9 are offline.
const NESTED: &str = "0,1 2,3 | 4,5 6,7; numa 0=0-7 1=4-5 7=; l3 0-3 4-5,8 9; l2 0-3 4-7";

/// An L2 cache over cores whose numbers are no neighbours: hwloc puts these cores side by side,
/// and slurmd, which leaves L2 caches out, does not.
const IN_ORDER: &str = "0,1 2,3 | 4,5 6,7; numa; l3 0-3 4-7; order 4,5,6,7,0,1,2,3";

/// Everything that other numbers have to reach.
const FULL: &str = "0,1 2,3 | 4,5 6,7; dies 0-3 4-7; l2 0-1 2-3 4-5 6-7; l1 0-1 2-3 4-5 6-7; order 0,1,2,3,4,5,6,7; kinds 0=2-3; isolated 7; gpu 1=4-7";

fn objects(machine: &Machine, kind: ObjectKind) -> String {
    let objects = machine.objects(kind);
    let texts: Vec<_> = objects.iter().map(CpuSet::to_string).collect();
    texts.join(" ")
}

#[test]
fn objects_of_each_kind() {
    for (line, kind, found) in [
        (BARE, Package, "0-3 4-7"),
        (BARE, Die, ""),
        (BARE, L3, ""),
        (BARE, L2, ""),
        (BARE, L1, ""),
        (BARE, Core, "0-1 2-3 4-5 6-7"),
        (BARE, Pu, "0 1 2 3 4 5 6 7"),
        // CPUs in no NUMA node form one domain.
        (BARE, Numa, "0-7"),
        (NESTED, Numa, "0-7 4-5"),
        (NESTED, L3, "0-3 4-5"),
        (NESTED, L2, "0-3 4-7"),
        (IN_ORDER, Package, "4-7 0-3"),
        (IN_ORDER, L3, "4-7 0-3"),
        (IN_ORDER, Core, "4-5 6-7 0-1 2-3"),
        (IN_ORDER, Pu, "4 5 6 7 0 1 2 3"),
    ] {
        assert_eq!(
            objects(&host(line).machine, kind),
            found,
            "{line}: {kind:?}"
        );
    }
    let bare = host(BARE).machine;
    assert!(bare.kinds().is_empty() && bare.devices().is_empty());
    let slurmds = host(IN_ORDER).machine;
    assert_eq!(slurmds.pus_of(CoreIdx(0)), [CpuId(0), CpuId(1)]);
}

#[test]
fn one_cpu_is_in_one_object_of_a_kind() {
    let bare = || host(BARE).machine.parts().clone();
    let sets = |lists: [&str; 2]| lists.map(list).to_vec();
    let kind = |cpus| CoreKind {
        cpus: list(cpus),
        ..CoreKind::default()
    };
    let mut wrong: [Parts; 6] = std::array::from_fn(|_| bare());
    wrong[0].dies = sets(["0-3", "3-4"]);
    wrong[1].l3_caches = sets(["0-3", "0"]);
    wrong[2].l2_caches = sets(["1", "1"]);
    wrong[3].l1_caches = sets(["0-7", "7"]);
    wrong[4].kinds = vec![kind("0-4"), kind("4-7")];
    wrong[5].devices = vec![Device::default(); 4097];
    let whys = [
        "CPU 3 in two dies",
        "CPU 0 in two L3 caches",
        "CPU 1 in two L2 caches",
        "CPU 7 in two L1 caches",
        "CPU 4 in two kinds of cores",
        "4097 devices",
    ];
    for (parts, why) in wrong.into_iter().zip(whys) {
        let found = Machine::new(parts).unwrap_err().to_string();
        assert!(found.contains(why), "{found}");
    }
}

#[test]
fn other_numbers_reach_every_part() {
    let last = host(FULL)
        .machine
        .renumbered(Numbering::ThreadsLast)
        .unwrap();
    for kind in [L1, L2, Core] {
        assert_eq!(objects(&last, kind), "0,4 1,5 2,6 3,7", "{kind:?}");
    }
    for kind in [Package, Die, Numa, L3] {
        assert_eq!(objects(&last, kind), "0-1,4-5 2-3,6-7", "{kind:?}");
    }
    assert_eq!(objects(&last, Pu), "0 4 1 5 2 6 3 7");
    assert_eq!(last.kinds()[0].cpus, list("1,5"));
    assert_eq!(last.isolated(), &list("7"));
    assert_eq!(last.devices()[0].cpus, list("2-3,6-7"));
    assert_eq!(
        last.parts().whole_order,
        [0, 4, 1, 5, 2, 6, 3, 7].map(CpuId)
    );
}

/// Section 3.1 of Grid Engine's specification.
#[test]
fn letters_of_a_machine() {
    let niagara = format!("S{}", "CTTTTTTTT".repeat(8));
    for letters in [
        "SCCSCC",
        "SCCCC",
        "SCTTCTT",
        "SCCSCCSCCSCC",
        "SCCCSCCC",
        &niagara,
        "SCCSC",
    ] {
        let machine = host(letters).machine;
        assert_eq!(machine.topology_string(SocketKind::Package), letters);
    }
}

#[test]
fn cores_in_use_have_small_letters() {
    for (letters, used, in_use) in [
        // Section 3.3: a job of two processes on the first socket.
        ("SCCSCC", "0-1", "sccSCC"),
        // Section 3.5: core 1 of socket 1, both cores of socket 3.
        ("SCCSCCSCCSCC", "3,6-7", "SCCSCcSCCscc"),
        // Section 3.5, qstat -cb: the job's own cores.
        ("SCCCCSCCCC", "2,6", "SCCcCSCCcC"),
        // One hardware thread stands for its core.
        ("SCTTCTTSCTTCTT", "1", "ScttCTTSCTTCTT"),
        ("SCTTCTTSCTTCTT", "0,2", "scttcttSCTTCTT"),
    ] {
        let found = host(letters)
            .machine
            .topology_in_use(SocketKind::Package, &list(used));
        assert_eq!(found, in_use);
    }
}

/// Hybrid chips whose efficiency cores slurmd leaves out, because `SlurmdParameters` has no `allow_ecores`.
#[test]
fn efficiency_cores_that_slurmd_leaves_out() {
    let fast_first = "0,1 2,3 4,5 6,7 8 9 10 11 12 13 14 15; kinds IntelAtom=8-15 IntelCore=0-7";
    let small_first = "0 1 2 3 4 5 6 7 8,9 10,11 12,13 14,15; kinds IntelAtom=0-7 IntelCore=8-15";
    let counted = "counted 1x4x2 0,1,2,3,4,5,6,7";
    let node = |line: &str| {
        let host = host(line);
        Ask::default().node(&host.machine, host.kind, host.shape)
    };
    let efficiency_cpus = |line: &str| node(line).efficiency_cpus();
    assert_eq!(
        efficiency_cpus(&format!("{fast_first}; {counted}")),
        Some(list("8-15"))
    );
    assert_eq!(
        efficiency_cpus(&format!("{small_first}; {counted}")),
        Some(list("0-7"))
    );
    // A slurmd that counts all cores is followed too.
    assert_eq!(efficiency_cpus(fast_first), None);
    assert_eq!(node(fast_first).shape().core_count(), 12);
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
