//! What a step's user is told although the step runs, and why it is refused: machine, request, text.

use berth_placement::request::cpuset::{Choice, CpusetRequest, StepCpuset};
use berth_placement::*;
use berth_srun::Release;
use berth_srun::spelling::{cpu_bind, distribution};

/// Packages × NUMA nodes × cores × threads, numbered in order.
fn machine([packages, numas, cores, threads]: [u32; 4]) -> Machine {
    let parts = Machine::regular(packages, numas * cores, threads, Numbering::Block);
    let each = cores * threads;
    let numa = |id: u32| NumaNode {
        id: NumaId(id),
        cpus: (id * each..(id + 1) * each).map(CpuId).collect(),
    };
    Machine::new(Parts {
        numa_nodes: (0..packages * numas).map(numa).collect(),
        ..parts.unwrap().parts().clone()
    })
    .unwrap()
}

fn node(size: [u32; 4]) -> Node {
    Node::of(machine(size), SocketKind::Package, Rules::default())
}

/// Two packages of four cores with two threads.
const M2: [u32; 4] = [2, 1, 4, 2];

/// A request from words such as `n=4 bind=ldoms dist=block:block`.
fn ask(text: &str) -> Request {
    let mut ask = Request::default();
    for word in text.split_whitespace() {
        let (key, value) = word.split_once('=').unwrap();
        let number = || value.parse().unwrap();
        match key {
            "n" => ask.tasks = number(),
            "c" => ask.cpus_per_task = number(),
            "bind" => ask.cpu_bind = cpu_bind(value, Release::V22_05).unwrap(),
            "dist" => ask.distribution = distribution(value).unwrap(),
            "ntps" => ask.ntasks_per_socket = Some(number()),
            "binding" => ask.binding = Some(value.parse().unwrap()),
            "spec" => ask.core_spec = CoreSpec::Threads(number()),
            "reserved" => ask.reserved = CpuSet::from_list(value).unwrap(),
            "cpus" => ask.allocation = Allocation::Cpus(CpuSet::from_list(value).unwrap()),
            "cpuset" => {
                let Ok(CpusetRequest::Dynamic(requested)) = value.parse() else {
                    panic!("{value} is a dynamic cpuset");
                };
                ask.cpuset = Some(StepCpuset::Choose(Choice {
                    requested,
                    job_nodes: 1,
                    is_count_typed: true,
                }));
            }
            other => panic!("unknown word {other}"),
        }
    }
    ask
}

fn planned(node: &Node, request: &str) -> Result<Plan, Refusal> {
    plan(&ask(request), node, &Claims::default())
}

fn notes(node: &Node, request: &str) -> Vec<String> {
    let plan = planned(node, request).unwrap_or_else(|why| panic!("{request}: {why}"));
    plan.notes.iter().map(ToString::to_string).collect()
}

fn refusal(node: &Node, request: &str) -> String {
    planned(node, request).unwrap_err().to_string()
}

/// `ldoms` puts neighbours into one NUMA node of a socket that has several (task/affinity's rule).
#[test]
fn tasks_in_one_object_while_others_are_idle() {
    let numa = node([1, 4, 4, 2]);
    let plan = planned(&numa, "n=4 bind=ldoms").unwrap();
    assert!(plan.tasks.iter().all(|task| task.cpus.to_string() == "0-7"));
    assert_eq!(
        notes(&numa, "n=4 bind=ldoms"),
        [
            "some of the 4 tasks on this node are bound to the same NUMA node, and 3 NUMA nodes of this \
             step stay idle; use --map-by numa, which goes round the NUMA nodes"
        ]
    );
    let said = "some of the 4 tasks on this node are bound to the same socket, and 1 socket of this step \
                stays idle; use -m block:cyclic, which goes round the sockets";
    assert_eq!(
        notes(&node(M2), "n=4 bind=sockets dist=block:block"),
        [said]
    );
    let two = notes(&node(M2), "n=2 bind=sockets dist=block:block");
    assert_eq!(two.len(), 1, "{two:?}");
}

#[test]
fn objects_that_all_have_tasks_are_shared_without_a_note() {
    for (size, request) in [
        (M2, "n=4 bind=sockets"),
        (M2, "n=2 bind=ldoms dist=block:cyclic"),
        // One task has it alone.
        (M2, "n=1 bind=sockets"),
        ([1, 4, 4, 2], "n=1 bind=ldoms"),
        ([1, 4, 4, 2], "n=2 c=16 bind=ldoms"),
        ([1, 4, 4, 2], "n=32 bind=ldoms"),
        // The step owns nothing of the other one.
        (M2, "n=4 bind=sockets dist=block:block cpus=0-7"),
        (M2, "n=4 bind=sockets dist=block:block ntps=2"),
    ] {
        assert_eq!(notes(&node(size), request), [""; 0], "{request}");
    }
    let affinity = Rules {
        fixes: Fixes::NONE,
        ..Rules::default()
    };
    let node = node([1, 4, 4, 2]).with_rules(affinity);
    assert_eq!(notes(&node, "n=4 bind=ldoms"), [""; 0]);
}

/// Where some CPUs are isolated, the note is no reason to use them.
#[test]
fn idle_objects_do_not_bring_isolated_cpus_in() {
    let parts = Parts {
        isolated: CpuSet::from_list("0-1,8-15").unwrap(),
        ..machine([1, 4, 4, 2]).parts().clone()
    };
    let machine = Machine::new(parts).unwrap();
    let node = Node::of(machine, SocketKind::Package, Rules::default());
    let plan = planned(&node, "n=2 bind=ldoms").unwrap();
    assert_eq!(plan.tasks[0].cpus.to_string(), "2-7");
    assert_eq!(plan.notes.len(), 1, "{:?}", plan.notes);
}

/// Contract: `explicit` names absolute cores, so all tasks of the step share them.
#[test]
fn tasks_share_explicit_cores() {
    let request = "n=2 binding=explicit:0,0:1,0";
    assert_eq!(
        notes(&node(M2), request),
        [
            "--binding=explicit:0,0:1,0 names cores of the node, so the 2 tasks on this node share them; \
             use --binding=linear:AMOUNT or striding: to give each task its own"
        ]
    );
    for request in [
        "n=1 binding=explicit:0,0:1,0",
        "n=2 binding=host:linear:2",
        "n=2 binding=linear:2",
    ] {
        assert_eq!(notes(&node(M2), request), [""; 0], "{request}");
    }
}

/// Contract: who asked for `-c` and gets less by an amount is told so.
#[test]
fn a_binding_that_is_smaller_than_the_tasks() {
    let said = |binding: &str| {
        format!(
            "-c requests 4 CPUs for each task, but --binding={binding} gives only 2; use a larger amount or a \
             smaller -c"
        )
    };
    for binding in ["linear:1", "host:linear:1", "striding:1:2"] {
        let request = format!("n=2 c=4 binding={binding}");
        assert_eq!(notes(&node(M2), &request), [said(binding)]);
    }
    for request in [
        "n=2 c=4 binding=linear:2",
        "n=2 c=2 binding=linear:1",
        "n=1 c=4 binding=explicit:0,0",
    ] {
        assert_eq!(notes(&node(M2), request), [""; 0], "{request}");
    }
}

/// Whole cores can give a task what the step's CPUs, divided among all tasks, would not.
#[test]
fn only_the_task_that_lacks_cpus_is_named() {
    let mut parts = machine(M2).parts().clone();
    parts.packages[1].cores[3].pus.truncate(1);
    parts.allowed = CpuSet::first(15);
    parts.numa_nodes[1].cpus = CpuSet::from_list("8-14").unwrap();
    let machine = Machine::new(parts).unwrap();
    let offline = Node::of(machine, SocketKind::Package, Rules::default());
    assert_eq!(
        notes(&offline, "n=8 c=2 bind=cores"),
        [
            "each task requests 2 CPUs, but task 7 on this node gets 1, because no more are left \
             together; use fewer tasks or a smaller -c"
        ]
    );
    let all = "8 tasks request 3 CPUs each, but this step owns 16 on this node; each task gets 2; use \
               fewer tasks or a smaller -c";
    assert_eq!(notes(&node(M2), "n=8 c=3 bind=cores"), [all]);
}

#[test]
fn too_many_tasks() {
    assert_eq!(
        refusal(&node(M2), "n=17 bind=cores"),
        "17 tasks request one CPU each; this step owns 16 on this node (0-15); use fewer tasks or --overcommit"
    );
    assert_eq!(
        refusal(&node(M2), "n=17 c=2 bind=cores"),
        "17 tasks request 2 CPUs each; this step owns 16 on this node (0-15), which is not even one for \
         each; use fewer tasks or --overcommit"
    );
}

#[test]
fn a_step_without_a_cpu() {
    assert_eq!(
        refusal(&node(M2), "n=4 spec=16"),
        "--thread-spec=16 leaves this step no CPU of this node; use a smaller --thread-spec"
    );
    assert_eq!(
        refusal(&node(M2), "n=4 cpus=16"),
        "this step's CPUs (16) are not on this node, which has 0-15; name CPUs of this node"
    );
}

#[test]
fn lists_that_number_the_whole_node() {
    let says = |request: &str, why: &str| {
        let found = refusal(&node(M2), request);
        assert_eq!(
            found,
            format!("--cpu-bind=rank_ldom numbers the CPUs of the whole node{why}"),
            "{request}"
        );
    };
    says(
        "n=2 bind=rank_ldom reserved=0",
        ", and this site keeps some of them free (reserved), so this step has CPUs 1-15; use \
         --cpu-bind=cores or ldoms",
    );
    says(
        "n=2 bind=rank_ldom cpuset=NCPUS=4",
        ", and the job's --cpuset leaves this step CPUs 0-3; leave out --cpuset, or use \
         --cpu-bind=cores or ldoms",
    );
    says(
        "n=2 bind=rank_ldom cpus=0-7",
        "; this step owns only CPUs 0-7 on this node; add --exclusive, or use --cpu-bind=cores or ldoms",
    );
    // A part of the node, whatever is reserved.
    says(
        "n=2 bind=rank_ldom cpus=0-7 reserved=0",
        "; this step owns only CPUs 1-7 on this node; add --exclusive, or use --cpu-bind=cores or ldoms",
    );
}
