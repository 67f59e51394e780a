//! The figures of a plan: machine, request, figures.

use berth_placement::answer::quality::Range;
use berth_placement::*;

/// Two packages of four cores of two threads, each with two NUMA nodes and one L3 cache.
fn node() -> Node {
    let parts = Machine::regular(2, 4, 2, Numbering::Block)
        .unwrap()
        .parts()
        .clone();
    let node = |id: u32| NumaNode {
        id: NumaId(id),
        cpus: (id * 4..id * 4 + 4).map(CpuId).collect(),
    };
    let parts = Parts {
        numa_nodes: (0..4).map(node).collect(),
        l3_caches: (0..2)
            .map(|at| (at * 8..at * 8 + 8).map(CpuId).collect())
            .collect(),
        ..parts
    };
    Node::of(
        Machine::new(parts).unwrap(),
        SocketKind::Package,
        Rules::default(),
    )
}

fn figures(tasks: u32, each: u32, binding: &str, mems: Option<&str>) -> Quality {
    let node = node();
    let mut request = Request {
        tasks,
        cpus_per_task: each,
        binding: binding.parse().ok(),
        ..Request::default()
    };
    let policy = mems.and_then(|mems| MemPolicy::read("mask_mem", mems));
    request.mem_bind.policy = policy.map(Result::unwrap);
    let plan = plan(&request, &node, &Claims::default()).unwrap();
    Quality::of(&plan, &node).unwrap()
}

#[test]
fn objects_that_the_step_does_not_own_are_not_counted() {
    let node = node();
    let request = Request {
        tasks: 2,
        allocation: Allocation::Cpus(CpuSet::from_list("0-7").unwrap()),
        binding: "auto".parse().ok(),
        ..Request::default()
    };
    let plan = plan(&request, &node, &Claims::default()).unwrap();
    let found = Quality::of(&plan, &node).unwrap();
    assert_eq!(found.tasks_per_numa, Range { least: 1, most: 1 });
    assert_eq!(found.tasks_per_l3, Some(Range { least: 2, most: 2 }));
}

#[test]
fn what_is_counted() {
    let range = |least, most| Range { least, most };
    // CPUs 0-3, 4-7 and 8-15: the last task has two NUMA nodes.
    let three = Quality {
        span_numa: 1,
        tasks_per_numa: range(1, 1),
        tasks_per_l3: Some(range(1, 2)),
        far_cpus: 4,
        neighbours_apart: 2,
        ..Quality::default()
    };
    assert_eq!(figures(3, 1, "auto", None), three);
    // CPUs 0-5 and 8-13.
    let two = figures(2, 1, "linear:3", None);
    let idle = Quality {
        span_numa: 2,
        idle_cores: 2,
        tasks_per_l3: Some(range(1, 1)),
        neighbours_apart: 1,
        ..three
    };
    assert_eq!(two, idle);
    // On two of the eight cores there are two tasks.
    assert_eq!(figures(10, 1, "auto", None).shared_cores, 2);
    // Four tasks on each package, two on each NUMA node.
    assert_eq!(figures(8, 1, "auto", None).neighbours_apart, 3);
    assert_eq!(figures(2, 1, "linear:1", None).neighbours_apart, 0);
    let spread = figures(2, 2, "auto", None);
    assert_eq!((spread.idle_cores, spread.far_cpus), (6, 0));
    assert_eq!(spread.tasks_per_numa, range(0, 1));
    let one = figures(1, 1, "auto", Some("0x1"));
    assert_eq!((one.span_packages, one.span_l3, one.far_cpus), (1, 1, 12));
    // Memory of another node is far from all of the task's CPUs.
    assert_eq!(figures(1, 1, "linear:1", Some("0x8")).far_cpus, 2);
    assert_eq!(figures(1, 1, "linear:1", Some("0x9")).far_cpus, 0);
}
