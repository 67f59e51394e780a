//! Hybrid chips whose efficiency cores slurmd leaves out, because `SlurmdParameters` has no
//! `allow_ecores`: what slurmd has counted, and the masks that steps get there.

mod tree;

use berth_placement::{
    Allocation, Claims, CoreIdx, CoreKind, CpuBind, CpuId, CpuSet, ECores, Fixes, Level, Machine,
    Node, Parts, Request, Rules, Shape, SocketKind, plan,
};
use tree::written::machine;

/// Four performance cores, then eight efficiency cores.
const FAST_FIRST: (&str, &str, &str) = ("0,1 2,3 4,5 6,7 8 9 10 11 12 13 14 15", "0-7", "8-15");
/// Eight efficiency cores, then four performance cores.
const SMALL_FIRST: (&str, &str, &str) = ("0 1 2 3 4 5 6 7 8,9 10,11 12,13 14,15", "8-15", "0-7");

fn list(text: &str) -> CpuSet {
    CpuSet::from_list(text).expect("a list")
}

fn kind(cpus: &str, infos: &[(&str, &str)]) -> CoreKind {
    let infos = infos
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_string()));
    CoreKind {
        cpus: list(cpus),
        rank: None,
        infos: infos.collect(),
    }
}

fn with_kinds(line: &str, kinds: Vec<CoreKind>) -> Machine {
    let parts = machine(line).parts().clone();
    Machine::new(Parts { kinds, ..parts }).expect("a machine")
}

fn hybrid((line, fast, small): (&str, &str, &str)) -> Machine {
    let small = kind(small, &[("CoreType", "IntelAtom")]);
    with_kinds(line, vec![small, kind(fast, &[("CoreType", "IntelCore")])])
}

/// One socket of four cores with two threads.
fn counted(map: [u32; 8]) -> Shape {
    Shape {
        sockets: 1,
        cores: 4,
        threads: 2,
        stride: 2,
        cpus_are_cores: false,
        map: map.map(CpuId).to_vec(),
    }
}

fn node(machine: Machine, shape: Shape, rules: Rules) -> Node {
    Node::new(shape, Some(machine.into()), SocketKind::Package, rules)
}

fn masks(on: &Node, tasks: u32, level: Option<Level>, cores: &[u32]) -> String {
    let request = Request {
        tasks,
        cpu_bind: CpuBind {
            level,
            ..CpuBind::default()
        },
        allocation: Allocation::Cores {
            cores: cores.iter().copied().map(CoreIdx).collect(),
            configured: 4,
        },
        ..Request::default()
    };
    let plan = plan(&request, on, &Claims::default()).expect("a plan");
    let each: Vec<_> = plan
        .tasks
        .iter()
        .map(|task| task.cpus.to_string())
        .collect();
    each.join(" ")
}

const ALL: [u32; 4] = [0, 1, 2, 3];

#[test]
fn steps_get_no_core_that_slurmd_leaves_out() {
    let on = node(
        hybrid(FAST_FIRST),
        counted([0, 1, 2, 3, 4, 5, 6, 7]),
        Rules::default(),
    );
    assert_eq!(on.efficiency_cpus(), Some(list("8-15")));
    assert_eq!(masks(&on, 4, Some(Level::Cores), &ALL), "0-1 2-3 4-5 6-7");
    assert_eq!(masks(&on, 8, None, &ALL), "0 1 2 3 4 5 6 7");
    assert_eq!(masks(&on, 1, Some(Level::Sockets), &ALL), "0-7");
    assert_eq!(masks(&on, 1, Some(Level::Ldoms), &ALL), "0-7");
}

/// slurmd replaces the numbers from eight on, so its map has CPUs of efficiency cores.
#[test]
fn performance_cores_with_the_higher_numbers() {
    let on = node(
        hybrid(SMALL_FIRST),
        counted([0, 1, 2, 3, 4, 5, 6, 7]),
        Rules::default(),
    );
    assert_eq!(on.efficiency_cpus(), Some(list("0-7")));
    assert_eq!(
        masks(&on, 4, Some(Level::Cores), &ALL),
        "8-9 10-11 12-13 14-15"
    );
    assert_eq!(masks(&on, 2, Some(Level::Cores), &[1, 3]), "10-11 14-15");
    // The step's cgroup has those of slurmd's map, and nothing else can be had.
    let constrained = Rules {
        constrain_cores: true,
        ..Rules::default()
    };
    let on = node(
        hybrid(SMALL_FIRST),
        counted([0, 1, 2, 3, 4, 5, 6, 7]),
        constrained,
    );
    assert_eq!(
        masks(&on, 2, Some(Level::Cores), &[1, 3]),
        "2-3,6-7 2-3,6-7"
    );
}

#[test]
fn a_slurmd_that_counts_all_cores_is_followed_too() {
    let machine = hybrid(FAST_FIRST);
    let on = Node::of(machine.clone(), SocketKind::Package, Rules::default());
    assert_eq!((on.efficiency_cpus(), on.shape().core_count()), (None, 12));
    // task/affinity knows slurmd's map alone.
    let affinity = Rules {
        fixes: Fixes::NONE,
        ..Rules::default()
    };
    let on = node(
        hybrid(SMALL_FIRST),
        counted([0, 1, 2, 3, 4, 5, 6, 7]),
        affinity,
    );
    assert_eq!(masks(&on, 2, Some(Level::Cores), &[1, 3]), "2-3 6-7");
}

#[test]
fn each_release_finds_the_performance_cores_in_its_own_way() {
    let kinds = vec![
        kind(
            "6",
            &[("CoreType", "IntelAtom"), ("FrequencyMaxMHz", "3800")],
        ),
        kind(
            "0-1",
            &[("coretype", "intelcore"), ("FrequencyMaxMHz", "4900")],
        ),
        kind(
            "2-3",
            &[("CoreType", "IntelCore"), ("FrequencyMaxMHz", "5000")],
        ),
        kind("4", &[("FrequencyMaxMHz", "4900")]),
        kind("5", &[("FrequencyMaxMHz", "5000")]),
    ];
    let machine = with_kinds("0 1 2 3 4 5 6", kinds);
    let kept = |release| {
        machine
            .without_ecores(release)
            .map(|part| part.cpus().to_string())
    };
    assert_eq!(kept(ECores::FirstKind).as_deref(), Some("0-1"));
    assert_eq!(kept(ECores::SameFrequency).as_deref(), Some("0-1,4"));
    assert_eq!(kept(ECores::AnyFrequency).as_deref(), Some("0-5"));
    // Other chips with cores of two kinds stay whole, and so does one without small cores.
    let other = vec![kind("0", &[("FrequencyMaxMHz", "2000")]), kind("1", &[])];
    let all = vec![kind("0-1", &[("CoreType", "IntelCore")])];
    for kinds in [other, all, Vec::new()] {
        let machine = with_kinds("0 1", kinds);
        assert_eq!(
            ECores::ALL.map(|release| machine.without_ecores(release)),
            [None, None, None]
        );
    }
}
