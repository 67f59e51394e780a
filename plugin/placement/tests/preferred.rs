//! What no option names: isolated CPUs are left out while others suffice, and a task keeps to cores of
//! one kind. Machine, request, each task's CPUs.

use berth_placement::*;

fn list(text: &str) -> CpuSet {
    CpuSet::from_list(text).unwrap()
}

/// One package of cores: each word is a core's CPUs.
fn parts(cores: &str) -> Parts {
    let core = |cpus: &str| Core {
        pus: list(cpus).iter().collect(),
    };
    let cores: Vec<_> = cores.split_whitespace().map(core).collect();
    let all = cores.iter().flat_map(|core| core.pus.iter().copied());
    Parts {
        allowed: all.collect(),
        packages: vec![Package { cores }],
        ..Parts::default()
    }
}

fn node(parts: Parts, fixes: Fixes) -> Node {
    let rules = Rules {
        fixes,
        ..Rules::default()
    };
    Node::of(Machine::new(parts).unwrap(), SocketKind::Package, rules)
}

fn isolating(cpus: &str, fixes: Fixes) -> Node {
    let isolated = list(cpus);
    let parts = Parts {
        isolated,
        ..parts("0-1 2-3 4-5 6-7")
    };
    node(parts, fixes)
}

/// Two fast cores with two hardware threads and three slow ones with one; the slow one in front has
/// the lowest number.
fn hybrid(fixes: Fixes) -> Node {
    let kind = |cpus, rank| CoreKind {
        cpus: list(cpus),
        rank: Some(rank),
        infos: Vec::new(),
    };
    let kinds = vec![kind("0,5-6", 0), kind("1-4", 1)];
    let parts = Parts {
        kinds,
        ..parts("0 1-2 3-4 5 6")
    };
    node(parts, fixes)
}

fn level(tasks: u32, each: u32, level: Option<Level>) -> Request {
    Request {
        tasks,
        cpus_per_task: each,
        cpu_bind: CpuBind {
            level,
            ..CpuBind::default()
        },
        ..Request::default()
    }
}

/// Each task's CPUs, and the notes behind them.
fn answer(node: &Node, request: &Request) -> String {
    match plan(request, node, &Claims::default()) {
        Ok(plan) => {
            let tasks = plan.tasks.iter().map(|task| task.cpus.to_string());
            let notes: Vec<_> = plan.notes.iter().map(|note| format!(" # {note}")).collect();
            tasks.collect::<Vec<_>>().join(" ") + &notes.join("")
        }
        Err(why) => format!("refused: {why}"),
    }
}

#[track_caller]
fn same(node: &Node, request: &Request, expected: &str) {
    assert_eq!(answer(node, request), expected, "{request:?}");
}

#[test]
fn isolated_cpus_are_left_out() {
    let node = isolating("0-1,7", Fixes::ALL);
    same(&node, &level(2, 1, Some(Level::Cores)), "2-3 4-5");
    same(&node, &level(3, 1, Some(Level::Cores)), "2-3 4-5 6");
    same(&node, &level(2, 2, Some(Level::Threads)), "2-3 4-5");
    same(&node, &level(1, 1, Some(Level::Sockets)), "2-6");
    // As many tasks as cores that are left, and neither as many as cores nor as threads.
    same(&node, &level(3, 1, None), "2-6 2-6 2-6");
    same(&node, &level(5, 1, None), "2 3 4 5 6");
    let bound = |binding: &str| Request {
        tasks: 2,
        binding: Some(binding.parse().unwrap()),
        ..Request::default()
    };
    same(&node, &bound("linear:1"), "2-3 4-5");
    same(&node, &bound("auto"), "2-5 6");
    let alone = Request {
        tasks: 1,
        ..bound("explicit:0,0:0,1")
    };
    same(&node, &alone, "0-3");
    let named = Request {
        cpu_bind: CpuBind {
            mode: Mode::read("map_cpu", "7,0").map(Result::unwrap),
            ..CpuBind::default()
        },
        ..level(2, 1, None)
    };
    same(&node, &named, "7 0");
    let unbound = Request {
        cpu_bind: CpuBind {
            mode: Some(Mode::Free),
            ..CpuBind::default()
        },
        ..level(1, 1, None)
    };
    assert!(
        plan(&unbound, &node, &Claims::default())
            .unwrap()
            .text()
            .is_none()
    );
}

#[test]
fn what_other_software_holds_is_kept_free_as_reserved_cpus_are() {
    let held = |cpus: &str, fixes| {
        let held = list(cpus);
        let parts = Parts {
            held,
            ..parts("0-1 2-3 4-5 6-7")
        };
        node(parts, fixes)
    };
    let cores = level(2, 1, Some(Level::Cores));
    let here = held("0-1,7", Fixes::ALL);
    same(&here, &cores, "2-3 4-5");
    let also = Request {
        reserved: list("2"),
        ..cores.clone()
    };
    same(&here, &also, "3 4-5");
    let named = Request {
        cpu_bind: CpuBind {
            mode: Mode::read("map_cpu", "7").map(Result::unwrap),
            ..CpuBind::default()
        },
        ..level(1, 1, None)
    };
    assert!(
        answer(&here, &named).starts_with("refused: "),
        "{}",
        answer(&here, &named)
    );
    // A step that has no others runs there.
    let alone = Request {
        allocation: Allocation::Cpus(list("0-1")),
        ..level(1, 1, Some(Level::Cores))
    };
    let said = answer(&here, &alone);
    assert!(said.starts_with("0-1 # this site keeps CPUs 0-1"), "{said}");
    // task/affinity knows nothing of it.
    same(&held("0-1,7", Fixes::NONE), &cores, "0-1 2-3");
}

#[test]
fn isolated_cpus_that_are_needed_are_used_with_a_note() {
    let node = isolating("6-7", Fixes::ALL);
    let note = " # the kernel isolates CPUs 6-7 (isolcpus, nohz_full), and tasks of this step get them \
                because it has too few others; use fewer tasks or a smaller -c";
    let four = "0-1 2-3 4-5 6-7";
    same(
        &node,
        &level(4, 2, Some(Level::Cores)),
        &format!("{four}{note}"),
    );
    let linear = Request {
        tasks: 4,
        binding: Some("linear:1".parse().unwrap()),
        ..Request::default()
    };
    same(&node, &linear, &format!("{four}{note}"));
    let only = Request {
        allocation: Allocation::Cpus(list("6-7")),
        ..level(2, 1, Some(Level::Threads))
    };
    same(&node, &only, "6 7");
    let crowd = Request {
        overcommit: true,
        ..level(9, 1, None)
    };
    assert!(answer(&node, &crowd).starts_with("0-5 0-5 "));
}

#[test]
fn task_affinity_knows_no_isolated_cpus() {
    for fixes in [Fixes::NONE, Fixes::ALL.apply("-isolated-cpus").unwrap()] {
        let node = isolating("0-1,7", fixes);
        same(&node, &level(2, 1, Some(Level::Cores)), "0-1 2-3");
    }
}

#[test]
fn a_task_keeps_to_cores_of_one_kind() {
    let cores = |tasks, each| level(tasks, each, Some(Level::Cores));
    let node = hybrid(Fixes::ALL);
    same(&node, &cores(3, 2), "1-2 3-4 0,5");
    same(&node, &cores(2, 3), "1-4 0,5-6");
    same(&node, &level(3, 2, Some(Level::Threads)), "1-2 3-4 0,5");
    // Nothing is mixed.
    same(&node, &cores(4, 1), "0 1-2 3-4 5");
    same(&node, &level(1, 1, Some(Level::Sockets)), "0-6");
    let without = hybrid(Fixes::ALL.apply("-one-kind").unwrap());
    same(&without, &cores(3, 2), "0-2 3-4 5-6");
}

/// A package ends in the fastest kind, which would have room for two tasks that span packages.
#[test]
fn a_kind_is_left_where_its_next_task_would_span_packages() {
    let cores = |first: u32, count: u32, threads: u32| {
        let core = move |at: u32| Core {
            pus: (0..threads)
                .map(|thread| CpuId(first + at * threads + thread))
                .collect(),
        };
        (0..count).map(core).collect::<Vec<_>>()
    };
    let kind = |cpus, rank| CoreKind {
        cpus: list(cpus),
        rank: Some(rank),
        infos: Vec::new(),
    };
    let packages = vec![
        Package {
            cores: cores(0, 4, 2),
        },
        Package {
            cores: [cores(8, 8, 2), cores(24, 12, 1)].concat(),
        },
    ];
    let machine = Parts {
        allowed: CpuSet::first(36),
        packages,
        kinds: vec![kind("24-35", 0), kind("16-23", 1), kind("0-15", 2)],
        ..Parts::default()
    };
    let own = [0, 2, 3, 4, 8, 9, 10, 11].map(CoreIdx).to_vec();
    let request = Request {
        allocation: Allocation::Cores {
            cores: own,
            configured: u32::MAX,
        },
        ..level(2, 4, Some(Level::Cores))
    };
    let apart = node(machine.clone(), Fixes::ALL);
    same(&apart, &request, "0-1,4-5 16-19");
    let mixed = node(machine, Fixes::ALL.apply("-one-kind").unwrap());
    same(&mixed, &request, "0-1,4-5 8-9,16-17");
}
