//! A mapping by slot or core beside `--near`: its defaults, what is too small, and what a user is told.

use berth_placement::request::cpuset::{Choice, CpusetRequest, StepCpuset};
use berth_placement::*;

use crate::making::*;

#[test]
fn defaults_count_the_tasks_of_the_node() {
    let node = two_packages();
    // Up to two tasks are bound to cores, more to NUMA nodes.
    same(&node, "n=2 near=gpu map=slot", "0,12 6,18");
    same(
        &node,
        "n=5 near=gpu map=slot",
        "0-5,12-17 0-5,12-17 0-5,12-17 6-11,18-23 6-11,18-23",
    );
    // More tasks than CPUs are not bound, but stay next to their devices.
    let request = ask("n=13 near=gpu map=slot");
    let plan = planned(&request, &node).unwrap();
    let lists: Vec<_> = plan
        .tasks
        .iter()
        .map(|task| task.cpus.to_string())
        .collect();
    assert!(
        lists[..7].iter().all(|list| list == "0-5,12-17"),
        "{lists:?}"
    );
    assert!(
        lists[7..].iter().all(|list| list == "6-11,18-23"),
        "{lists:?}"
    );
    assert_eq!(
        notes(&node, &request),
        [
            "--map-by=slot binds none of the 13 tasks on this node, because the step has too few CPUs for it \
             here (12 cores); use fewer tasks, or name with --bind-to what to bind to"
        ]
    );
}

#[test]
fn what_does_not_fit_is_next_to_the_same_devices() {
    let node = two_packages();
    for (request, why) in [
        (
            "n=24 near=gpu map=core",
            "--map-by=core with --near=gpu: 12 tasks are next to the same devices on this node, and 6 of them \
             fit there; use fewer tasks, or let them share CPUs with :overload-allowed behind --bind-to",
        ),
        (
            "n=5 near=gpu map=slot:pe=3",
            "--map-by=slot:pe=3 with --near=gpu: 3 tasks are next to the same devices on this node, and 2 of \
             them fit there; use fewer tasks, or let them share CPUs with :overload-allowed behind --bind-to",
        ),
        (
            "n=2 near=gpu:strict map=slot:pe=7",
            "--map-by=slot:pe=7 with --near=gpu:strict: a task on this node does not fit next to its devices; \
             use a smaller pe=, or a larger allocation",
        ),
        (
            "n=4 near=gpu map=slot:pe=7",
            "--map-by=slot:pe=7 with --near=gpu: none of the 2 tasks next to the same devices on this node \
             fits there; use a smaller pe=, or a larger allocation",
        ),
    ] {
        same(&node, request, &format!("refused: {why}"));
    }
    same(
        &node,
        "n=4 near=gpu map=slot:pe=3",
        "0-2,12-14 3-5,15-17 6-8,18-20 9-11,21-23",
    );
    // All tasks together.
    same(
        &self::node([1, 1, 1, 2, 1], &[(1, "0-1")]),
        "n=3 near=gpu map=core",
        "refused: --map-by=core with --near=gpu: 3 tasks are on this node, and 2 of them fit; use at most 2 \
         tasks on this node, or let them share CPUs with :overload-allowed behind --bind-to",
    );
}

/// "If a neighbourhood is too small the task gets the next nearest, with a note."
#[test]
fn a_neighbourhood_with_too_few_cores() {
    let node = two_packages();
    let few = "n=6 near=gpu map=core reserved=2-5,14-17";
    same(&node, few, "0,12 1,13 9,21 6,18 7,19 8,20");
    let told = notes(&node, &ask(few));
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].starts_with(
            "--near=gpu: task 2 on this node gets cores that are not next to its devi"
        ),
        "{told:?}"
    );
    same(
        &node,
        "n=6 near=gpu map=slot cpus=0-1,6-11",
        "0-1 0-1 6-7 8-11 8-11 8-11",
    );
    let strict = few.replace("gpu", "gpu:strict");
    assert!(
        gives(&node, &ask(&strict)).starts_with("refused: --near=gpu:strict is strict; task 2")
    );
}

/// "A step left with fewer CPUs than tasks shares them, with a note."
#[test]
fn tasks_share_what_is_not_reserved() {
    let node = two_packages();
    let reserved = "n=8 map=core reserved=2-5,8-11,14-17,20-23";
    let shared = ["0-1,6-7,12-13,18-19"; 8].join(" ");
    let note = "this site keeps some of the CPUs free (reserved) that Slurm has given this step on this node; 8 \
                tasks share the others, CPUs 0-1,6-7,12-13,18-19; use fewer tasks or a smaller -c";
    for near in ["", " near=gpu"] {
        let request = format!("{reserved}{near}");
        same(&node, &request, &shared);
        assert_eq!(notes(&node, &ask(&request)), [note], "{request}");
    }
    let strict = gives(&node, &ask(&format!("{reserved} near=gpu:strict")));
    assert!(
        strict.starts_with("refused: --map-by=core with --near=gpu:strict"),
        "{strict}"
    );
    // More than there would be without reserved CPUs.
    let many = gives(&node, &ask("n=13 map=core near=gpu reserved=0"));
    assert!(
        many.starts_with("refused: --map-by=core with --near=gpu: 7 tasks"),
        "{many}"
    );
}

/// CPUs that other software holds for itself are reserved too.
#[test]
fn tasks_share_what_others_do_not_hold() {
    let all = two_packages();
    let parts = Parts {
        held: CpuSet::from_list("2-5,8-11,14-17,20-23").unwrap(),
        ..all.machine().unwrap().parts().clone()
    };
    let machine = Machine::new(parts).unwrap();
    let node = Node::of(machine, SocketKind::Package, Rules::default());
    let shared = ["0-1,6-7,12-13,18-19"; 8].join(" ");
    for request in ["n=8 map=core", "n=8 map=core near=gpu"] {
        same(&node, request, &shared);
    }
}

#[test]
fn notes_are_about_all_tasks() {
    let node = two_packages();
    // Of each package's four tasks one finds room.
    let request = ask("n=8 near=gpu map=slot bind=numa:limit=1:if-supported");
    let told = notes(&node, &request);
    assert_eq!(
        told,
        [
            "--map-by=slot --bind-to=numa:limit=1:if-supported: 6 of the 8 tasks on this node find no free \
             object and may use all CPUs of the step; use fewer tasks, or another --bind-to"
        ]
    );
    // -c is the mapping's to speak of, and the task is named by its number on the node.
    let request = ask("n=2 c=2 near=gpu map=core cpus=0-5,12-17,6-11");
    assert_eq!(
        notes(&node, &request),
        [
            "-c 2 is requested, but --map-by=core gives task 1 on this node 1 CPU; -c never becomes pe=: add \
             :pe=N, or bind to a wider level"
        ]
    );
    let said = "-c 8 is requested, but --map-by=core gives task 0 on this node 2 CPUs; -c never becomes pe=: \
                add :pe=N, or bind to a wider level";
    for near in ["gpu", "gpu:strict"] {
        let request = ask(&format!("n=2 c=8 map=core near={near}"));
        assert_eq!(notes(&node, &request), [said], "{near}");
    }
}

/// Contract: beside `CPU_LIST` a `--near` is refused.
#[test]
fn a_list_of_a_cpuset_chooses_too() {
    let node = two_packages();
    let chosen = |text: &str| {
        let Ok(CpusetRequest::Dynamic(requested)) = text.parse() else {
            panic!("{text} is a dynamic cpuset");
        };
        Some(StepCpuset::Choose(Choice {
            requested,
            job_nodes: 1,
            is_count_typed: true,
        }))
    };
    let beside = |words: &str, cpuset: &str| {
        let request = Request {
            cpuset: chosen(cpuset),
            ..ask(words)
        };
        gives(&node, &request)
    };
    for words in [
        "n=2 near=gpu",
        "n=2 near=gpu binding=auto",
        "n=2 near=gpu map=core",
    ] {
        assert_eq!(
            beside(words, "CPU_LIST=6-11;NCPUS=4"),
            "refused: --near=gpu and --cpuset=CPUSET[NCPUS=4;CPU_LIST=6-11] both choose the CPUs; drop one of \
             them"
        );
        assert!(!beside(words, "NCPUS=4").starts_with("refused"));
    }
    for words in [
        "n=2 near=none",
        "n=2 near=gpu list=none",
        "n=2 binding=auto",
    ] {
        let found = beside(words, "CPU_LIST=6-11;NCPUS=4");
        assert!(!found.starts_with("refused"), "{words}: {found}");
    }
    // What nobody typed gives way, and the user is told.
    let by_default = Request {
        near_by_default: true,
        cpuset: chosen("CPU_LIST=6-11;NCPUS=4"),
        ..ask("n=2 near=gpu")
    };
    let without = beside("n=2", "CPU_LIST=6-11;NCPUS=4");
    assert_eq!(gives(&node, &by_default), without);
    let says = "BERTH_NEAR=gpu has no effect on this step: --cpuset=CPUSET[NCPUS=4;CPU_LIST=6-11] lists the CPUs";
    let told = notes(&node, &by_default);
    assert!(told.iter().any(|note| note == says), "{told:?}");
}
