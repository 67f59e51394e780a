//! `--mem-bind` as facts and laws: machine, request, each task's NUMA nodes.

mod common;

use std::sync::Arc;

use berth_placement::*;
use berth_srun::{Release, spelling};
use proptest::prelude::*;

/// The door, where nobody claims anything.
fn plan(request: &Request, node: &Node) -> Result<Plan, Refusal> {
    berth_placement::plan(request, node, &Claims::default())
}

/// Two packages of two NUMA nodes with two cores each; node 4 is memory alone, and
/// node 6 a second kind of memory beside node 1's CPUs.
fn machine() -> Machine {
    let core = |cpu| Core {
        pus: vec![CpuId(cpu)],
    };
    let package = |first: u32| Package {
        cores: (first..first + 4).map(core).collect(),
    };
    let node = |id, cpus| NumaNode {
        id: NumaId(id),
        cpus: CpuSet::from_list(cpus).unwrap(),
    };
    Machine::new(Parts {
        packages: vec![package(0), package(4)],
        numa_nodes: vec![
            node(0, "0-1"),
            node(1, "2-3"),
            node(2, "4-5"),
            node(3, "6-7"),
            node(4, ""),
            node(6, "2-3"),
        ],
        l3_caches: vec![],
        allowed: CpuSet::first(8),
        ..Parts::default()
    })
    .unwrap()
}

fn request(tasks: u32, cpu_bind: &str, mem_bind: &str) -> Request {
    Request {
        tasks,
        cpu_bind: spelling::cpu_bind(cpu_bind, Release::NEWEST).unwrap(),
        distribution: spelling::distribution("block:block").unwrap(),
        mem_bind: spelling::mem_bind(mem_bind, Release::V22_05).unwrap(),
        ..Request::default()
    }
}

/// Each task's nodes, or the refusal's text.
fn gives(request: &Request, host: &Node) -> String {
    match plan(request, host) {
        Err(why) => format!("refused: {why}"),
        Ok(plan) => {
            let nodes = |task: &TaskPlan| task.mems.as_ref().map_or("-".into(), NodeSet::to_string);
            let tasks: Vec<_> = plan.tasks.iter().map(nodes).collect();
            tasks.join(" ")
        }
    }
}

#[test]
fn each_policys_nodes() {
    let host = Node::of(machine(), SocketKind::Package, Rules::default());
    for (tasks, cpu_bind, mem_bind, nodes) in [
        (2, "cores", "none", "- -"),
        (2, "cores", "verbose,sort,prefer", "- -"),
        (4, "cores", "rank", "0 1 2 3"),
        (5, "none", "rank", "0 1 2 3 4"),
        (8, "cores", "local", "0 0 1 1 2 2 3 3"),
        (5, "sockets", "local", "0-1 0-1 0-1 0-1 2-3"),
        (2, "none", "local", "0-3 0-3"),
        (2, "map_cpu:7,2", "local", "3 1"),
        (1, "mask_cpu:0x81", "local", "0,3"),
        (3, "cores", "map_mem:4,0", "4 0 4"),
        (2, "cores", "map_mem:6", "6 6"),
        (3, "cores", "mask_mem:0x3,50", "0-1 4,6 0-1"),
        // An entry that no task takes is not looked at.
        (1, "cores", "map_mem:0,5", "0"),
        (5, "sockets", "local,prefer", "0 0 0 0 2"),
        (2, "cores", "p,mask_mem:0xc", "2 2"),
    ] {
        let request = request(tasks, cpu_bind, mem_bind);
        assert_eq!(
            gives(&request, &host),
            nodes,
            "{tasks} {cpu_bind} {mem_bind}"
        );
    }
    let part = Request {
        allocation: Allocation::Cpus(CpuSet::from_list("4-5").unwrap()),
        ..request(2, "none", "local")
    };
    assert_eq!(gives(&part, &host), "2 2", "the step's CPUs are the mask");
}

/// Another job's cpuset wants the memory of nodes 1 and 2 for itself.
#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn memory_that_others_want_is_left_out_where_there_is_other() {
    let wanted: NodeSet = [1, 2].map(NumaId).into_iter().collect();
    let claims = Claims {
        memory: wanted,
        ..Claims::default()
    };
    let (all, none) = (Rules::default(), Fixes::NONE);
    let affinity = Rules { fixes: none, ..all };
    for (tasks, cpu_bind, mem_bind, rules, nodes, says) in [
        (
            2,
            "none",
            "local",
            all,
            "0,3 0,3",
            "leaves out NUMA nodes 1-2",
        ),
        (
            4,
            "sockets",
            "local",
            all,
            "0 0 0 0",
            "leaves out NUMA nodes 1,",
        ),
        // Tasks that have no others share them.
        (
            3,
            "map_cpu:2,4,6",
            "local",
            all,
            "1 2 3",
            "binds memory to NUMA nodes 1-2,",
        ),
        (
            2,
            "map_cpu:4,6",
            "local",
            all,
            "2 3",
            "binds memory to NUMA nodes 2,",
        ),
        (
            2,
            "none",
            "local,prefer",
            all,
            "0 0",
            "leaves out NUMA nodes 1-2",
        ),
        // What the user names is the user's.
        (
            2,
            "cores",
            "map_mem:1,0",
            all,
            "1 0",
            "binds memory to NUMA nodes 1,",
        ),
        (
            2,
            "cores",
            "rank",
            all,
            "0 1",
            "binds memory to NUMA nodes 1,",
        ),
        (2, "cores", "map_mem:0,3", all, "0 3", ""),
        (2, "none", "local", affinity, "0-3 0-3", ""),
    ] {
        let host = Node::of(machine(), SocketKind::Package, rules);
        let case = format!("{tasks} {cpu_bind} {mem_bind}");
        let plan = berth_placement::plan(&request(tasks, cpu_bind, mem_bind), &host, &claims);
        let plan = plan.unwrap_or_else(|why| panic!("{case}: {why}"));
        let mems = |task: &TaskPlan| task.mems.as_ref().map_or("-".into(), NodeSet::to_string);
        let found: Vec<_> = plan.tasks.iter().map(mems).collect();
        assert_eq!(found.join(" "), nodes, "{case}");
        let notes: Vec<_> = plan.notes.iter().map(ToString::to_string).collect();
        let notes = notes.join("; ");
        assert!(notes.contains(says), "{case}: {notes}");
        assert_eq!(
            notes.contains("for itself"),
            !says.is_empty(),
            "{case}: {notes}"
        );
    }
}

#[test]
fn rank_begins_again_after_the_jobs_cpus() {
    let host = Node::of(machine(), SocketKind::Package, Rules::default());
    let few = Request {
        job_cpus: Some(2),
        overcommit: true,
        ..request(3, "cores", "rank")
    };
    assert_eq!(gives(&few, &host), "0 1 0");
}

#[test]
fn what_cannot_be_is_refused_with_what_to_do() {
    let host = Node::of(machine(), SocketKind::Package, Rules::default());
    for (tasks, mem_bind, says) in [
        (
            1,
            "map_mem:5",
            "--mem-bind=map_mem:5 gives task 0 on this node NUMA node 5; this node has NUMA nodes \
             0-4,6; name only those, or let --mem-bind=local choose",
        ),
        (
            2,
            "mask_mem:1,0xe0",
            "--mem-bind=mask_mem:0x1,0xe0 gives task 1 on this node NUMA node 5,7;",
        ),
        (
            6,
            "rank",
            "--mem-bind=rank gives task 5 on this node NUMA node 5; this node has NUMA nodes \
             0-4,6; use fewer tasks",
        ),
        (2, "mask_mem:1,0", "gives task 1 on this node an empty mask"),
    ] {
        let said = gives(&request(tasks, "none", mem_bind), &host);
        let said = said.strip_prefix("refused: ").unwrap_or_default();
        assert!(
            said.starts_with(says) || said.contains(says),
            "{mem_bind}: {said}"
        );
    }
}

#[test]
fn without_a_machine_tree_nothing_can_be_checked() {
    let shape = Shape::of(&machine(), SocketKind::Package);
    let unknown = Node::new(shape, None, SocketKind::Package, Rules::default());
    for policy in ["local", "rank", "map_mem:0", "mask_mem:1"] {
        let said = gives(&request(1, "cores", policy), &unknown);
        let says = format!("refused: --mem-bind={policy}").replace("mask_mem:1", "mask_mem:0x1");
        assert!(
            said.starts_with(&says) && said.contains("berth discover"),
            "{said}"
        );
    }
    assert_eq!(gives(&request(1, "cores", "none"), &unknown), "-");
}

#[test]
fn cpus_in_no_numa_node_have_no_local_memory() {
    let mut parts = machine().parts().clone();
    parts.numa_nodes.retain(|node| node.id.0 != 3);
    let shape = Shape::of(&machine(), SocketKind::Package);
    let tree = Arc::new(Machine::new(parts).unwrap());
    let host = Node::new(shape, Some(tree), SocketKind::Package, Rules::default());
    let said = gives(&request(1, "map_cpu:6", "local"), &host);
    assert!(said.contains("its CPUs 6 are in no NUMA node"), "{said}");
}

#[test]
fn batch_scripts_leave_memory_alone() {
    let host = Node::of(machine(), SocketKind::Package, Rules::default());
    let batch = plan_batch(&request(1, "none", "map_mem:99"), &host, &Claims::default()).unwrap();
    assert_eq!(batch.memory_masks(), None);
}

fn policies() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("local".to_string()),
        Just("rank".to_string()),
        proptest::collection::vec(0u32..9, 1..5).prop_map(|nodes| {
            let nodes: Vec<_> = nodes.iter().map(ToString::to_string).collect();
            format!("map_mem:{}", nodes.join(","))
        }),
        proptest::collection::vec(0u32..300, 1..5).prop_map(|masks| {
            let masks: Vec<_> = masks.iter().map(|mask| format!("{mask:#x}")).collect();
            format!("mask_mem:{}", masks.join(","))
        }),
    ]
}

proptest! {
    #![proptest_config(common::config(2000))]

    #[test]
    fn every_task_has_nodes_and_all_of_them_are_there(
        policy in policies(), prefer in any::<bool>(), tasks in 1u32..12,
        level in proptest::sample::select(vec!["none", "cores", "threads", "sockets", "ldoms"]),
        own in 1u64..256,
    ) {
        let machine = machine();
        let there = machine.numa_nodes();
        let word = if prefer { "prefer," } else { "" };
        let request = Request {
            allocation: Allocation::Cpus(CpuSet::from_words(vec![own])),
            overcommit: true,
            ..request(tasks, level, &format!("{word}{policy}"))
        };
        let host = Node::of(machine, SocketKind::Package, Rules::default());
        let plain = plan(&Request { mem_bind: MemBind::default(), ..request.clone() }, &host);
        if let Ok(plan) = plan(&request, &host) {
            let masks = plan.memory_masks().unwrap();
            let masks: Vec<_> = masks.split(',').map(|mask| NodeSet::from_hex(mask).unwrap()).collect();
            prop_assert_eq!(masks.len(), tasks as usize);
            for (task, mask) in plan.tasks.iter().zip(masks) {
                let mems = task.mems.as_ref().unwrap();
                prop_assert_eq!(mems, &mask);
                prop_assert!(!mems.is_empty());
                prop_assert!(mems.difference(&there).is_empty());
                prop_assert_eq!(task.prefer, prefer);
                prop_assert!(!prefer || mems.iter().count() == 1);
            }
            // Memory never moves a task.
            prop_assert_eq!(plan.message, plain.unwrap().message);
        }
    }
}
