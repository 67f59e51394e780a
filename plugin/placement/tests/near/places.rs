//! Which cores tasks get next to their devices.

use berth_placement::*;

use crate::making::*;

#[test]
fn eight_tasks_get_the_lists_that_centres_publish() {
    let request = ask("n=8 near=gpu one_thread level=threads reserved=0,8,16,24,32,40,48,56");
    let plan = planned(&request, &eight_dies()).unwrap();
    let masks: Vec<_> = plan
        .tasks
        .iter()
        .map(|task| task.cpus.to_short_hex())
        .collect();
    assert_eq!(
        masks.join(","),
        "0xfe000000000000,0xfe00000000000000,0xfe0000,0xfe000000,0xfe,0xfe00,0xfe00000000,\
         0xfe0000000000"
    );
    assert_eq!(plan.decision.rule.to_string(), "near:gpu");
    assert_eq!(plan.notes, []);
    assert_eq!(
        devices(&eight_dies(), &request),
        "c1 (same L3) c6 (same L3) c9 (same L3) ce (same L3) d1 (same L3) d6 (same L3) \
         d9 (same L3) de (same L3)"
    );
}

#[test]
fn cores_are_an_even_share_of_the_place() {
    let node = two_packages();
    same(
        &node,
        "n=4 near=gpu",
        "0-2,12-14 3-5,15-17 6-8,18-20 9-11,21-23",
    );
    same(&node, "n=4 near=gpu one_thread", "0-2 3-5 6-8 9-11");
    // Three of five tasks are next to the first package.
    same(
        &node,
        "n=5 near=gpu",
        "0-1,12-13 2-3,14-15 4-5,16-17 6-8,18-20 9-11,21-23",
    );
    // A level beside it gives way.
    same(&node, "n=2 near=gpu:1 level=sockets", "0-2,12-14 3-5,15-17");
    // A task near devices of both packages gets cores of both.
    same(&node, "n=1 near=gpu", "0-23");
    let fourteen = "48-55,112-119 56-63,120-127 16-23,80-87 24-31,88-95 0-7,64-71 8-15,72-79 \
                    32-39,96-103 40-47,104-111";
    same(&eight_dies(), "n=8 near=gpu", fourteen);
    same(
        &eight_dies(),
        "n=16 near=gpu one_thread reserved=0,8,16,24,32,40,48,56",
        "49-52 53-55 57-60 61-63 17-20 21-23 25-28 29-31 1-4 5-7 9-12 13-15 33-36 37-39 41-44 45-47",
    );
}

#[test]
fn cpus_for_each_task_are_the_first_of_its_share() {
    let node = two_packages();
    same(&node, "n=4 c=2 near=gpu", "0,12 3,15 6,18 9,21");
    same(
        &node,
        "n=4 c=3 near=gpu",
        "0-1,12-13 3-4,15-16 6-7,18-19 9-10,21-22",
    );
    same(
        &node,
        "n=4 c=3 near=gpu level=threads",
        "0-1,12 3-4,15 6-7,18 9-10,21",
    );
    same(&node, "n=4 c=3 near=gpu one_thread", "0-2 3-5 6-8 9-11");
    // Two tasks of four cores do not fit beside each other next to a package's GPUs.
    same(&node, "n=2 c=8 near=gpu:1", "0-3,12-15 4-7,16-19");
    let told = notes(&node, &ask("n=2 c=8 near=gpu:1"));
    assert_eq!(
        told,
        ["--near=gpu:1: task 1 on this node gets cores that are not \
          next to its device (0000:02:00.0 (card2)), because this step has too few there; use \
          fewer tasks, or let it have the whole node (--exclusive for the job, and no -c)"]
    );
    assert!(devices(&node, &ask("n=2 c=8 near=gpu:1")).ends_with("02 (across packages)"));
    same(
        &node,
        "n=2 c=8 near=gpu:1:strict",
        "refused: --near=gpu:1:strict is strict; task 1 on this node does not fit next to \
         0000:02:00.0 (card2): this step has 12 usable CPUs there for all tasks of that place; use \
         fewer tasks or a smaller -c, or leave out strict",
    );
    // More than the step has: an even share, and a note.
    same(
        &node,
        "n=4 c=9 near=gpu",
        "0-2,12-14 3-5,15-17 6-8,18-20 9-11,21-23",
    );
    same(
        &node,
        "n=4 c=9 near=gpu:strict",
        "refused: --near=gpu:strict is strict; task 0 on this node does not fit next to \
         0000:01:00.0 (card1): this step has 12 usable CPUs there for all tasks of that place; use \
         fewer tasks or a smaller -c, or leave out strict",
    );
    let told = notes(&node, &ask("n=4 c=9 near=gpu"));
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].contains("requests 9 CPUs, but task 0 on this node gets 6"),
        "{told:?}"
    );
}

#[test]
fn more_tasks_than_cores_share_cores_by_threads_and_then_go_elsewhere() {
    let gpus = [(1, "0-1,4-5"), (2, "0-1,4-5")];
    let node = node([2, 1, 1, 2, 2], &gpus);
    same(&node, "n=2 near=gpu", "0,4 1,5");
    same(&node, "n=4 near=gpu", "0 4 1 5");
    same(&node, "n=4 near=gpu:strict", "0 4 1 5");
    // The next nearest: the other package's cores.
    same(&node, "n=5 near=gpu", "0,4 1,5 2,6 3 7");
    let told = notes(&node, &ask("n=5 near=gpu"));
    assert!(
        told[0].contains("get cores that are not next to their device"),
        "{told:?}"
    );
    same(
        &node,
        "n=9 near=gpu",
        "refused: 9 tasks request one CPU each; this step owns 8 on this node (0-7); use fewer \
         tasks or --overcommit",
    );
    let crowd = planned(&ask("n=9 near=gpu O"), &node).unwrap();
    assert!(crowd.tasks.iter().all(|task| !task.cpus.is_empty()));
    assert!(
        notes(&node, &ask("n=9 near=gpu O"))
            .iter()
            .any(|note| note.contains("9 tasks on this node share 8"))
    );
}

#[test]
fn a_step_without_cores_next_to_its_device_gets_the_next_nearest() {
    // Cores of the second L3 of the same NUMA node come before others.
    let node = eight_dies();
    let request = "n=1 near=card193 cpus=0-3,56-59 one_thread";
    same(&node, request, "56-59");
    assert_eq!(devices(&node, &ask(request)), "c1 (same NUMA node)");
    assert_eq!(notes(&node, &ask(request)).len(), 1);
    // Two GPUs, and cores next to one of them only: they share.
    let node = two_packages();
    same(&node, "n=4 near=gpu cpus=0-5", "0-1 2 3-4 5");
    let request = "n=4 near=gpu:strict cpus=0-5";
    assert!(gives(&node, &ask(request)).starts_with("refused: --near=gpu:strict is strict"));
}

#[test]
fn cores_that_are_kept_free_stay_free() {
    let node = two_packages();
    // A core with a reserved CPU is free whole.
    same(&node, "n=2 near=gpu:1 reserved=0,15", "1-2,13-14 4-5,16-17");
    let claims = Claims {
        taken: CpuSet::from_list("1").unwrap(),
        ..Claims::default()
    };
    let plan = plan(&ask("n=2 near=gpu:1"), &node, &claims).unwrap();
    assert_eq!(plan.tasks[0].cpus.to_string(), "0,2-3,12,14-15");
    // A step that has nothing else runs there.
    same(&node, "n=1 near=card1 cpus=0,12 reserved=0,12", "0,12");
}
