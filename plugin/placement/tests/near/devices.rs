//! Which devices tasks get, what Slurm says about them, and what is refused.

use berth_placement::*;

use crate::making::*;

#[test]
fn devices_are_divided_evenly() {
    let node = eight_dies();
    for (request, given) in [
        ("n=8 near=gpu", "c1 c6 c9 ce d1 d6 d9 de"),
        ("n=4 near=gpu", "c1+c6 c9+ce d1+d6 d9+de"),
        ("n=3 near=gpu", "c1+c6+c9 ce+d1+d6 d9+de"),
        ("n=10 near=gpu", "c1 c1 c6 c9 ce d1 d1 d6 d9 de"),
        ("n=3 near=gpu:1", "c1 c6 c9"),
        ("n=2 near=gpu:3", "c1+c6+c9 ce+d1+d6"),
        (
            "n=4 near=gpu:4",
            "c1+c6+c9+ce c1+c6+c9+ce d1+d6+d9+de d1+d6+d9+de",
        ),
        // The last run of devices overlaps the one before.
        ("n=3 near=gpu:3", "c1+c6+c9 ce+d1+d6 d6+d9+de"),
        ("n=2 near=gpu:5", "c1+c6+c9+ce+d1 ce+d1+d6+d9+de"),
        ("n=2 near=cardx:1:strict", ""),
        ("n=2 near=card209", "d1 d1"),
        ("n=2 near=0302:2", "c1+c6 c9+ce"),
    ] {
        let found = match planned(&ask(request), &node) {
            Ok(_) => devices(&node, &ask(request)),
            Err(_) => String::new(),
        };
        let words = found
            .split(") ")
            .map(|word| word.split(' ').next().unwrap_or(""));
        assert_eq!(words.collect::<Vec<_>>().join(" "), given, "{request}");
    }
    // Two of one NUMA node, and all of a package.
    assert!(devices(&node, &ask("n=4 near=gpu")).contains("c1+c6 (same NUMA node)"));
    assert!(devices(&node, &ask("n=1 near=gpu")).ends_with("(same package)"));
    assert!(devices(&two_packages(), &ask("n=1 near=gpu")).ends_with("(across packages)"));
}

#[test]
fn devices_that_tasks_share_are_said() {
    let node = two_packages();
    assert_eq!(
        devices(&node, &ask("n=2 near=gpu:3")),
        "01+02+81 (across packages) 02+81+82 (across packages)"
    );
    let said = |tasks: u32, each: u32| {
        format!(
            "--near=gpu:{each}: the {tasks} tasks on this node request {} devices, and this step has 4, so some \
             tasks share devices; use a smaller number, or leave it out to divide them evenly",
            tasks * each
        )
    };
    assert_eq!(notes(&node, &ask("n=2 near=gpu:3")), [said(2, 3)]);
    assert_eq!(notes(&node, &ask("n=4 near=gpu:2")), [said(4, 2)]);
    for request in [
        "n=2 near=gpu:2",
        "n=1 near=gpu:3",
        "n=8 near=gpu",
        "n=2 near=card1",
    ] {
        assert_eq!(notes(&node, &ask(request)), [""; 0], "{request}");
    }
}

#[test]
fn slurms_own_choice_is_followed() {
    let node = two_packages();
    let with = |request: &str, gres: Gres| Request {
        gres: Some(gres),
        ..ask(request)
    };
    let gres = |on_node, step: &[u32], tasks: &[&[u32]]| Gres {
        on_node,
        step: step.to_vec(),
        tasks: tasks.iter().map(|task| task.to_vec()).collect(),
    };
    let one = with("n=2 near=gpu", gres(4, &[3, 1], &[]));
    assert_eq!(devices(&node, &one), "02 (same L3) 82 (same L3)");
    // Each task's, in Slurm's order.
    let each = with("n=2 near=gpu", gres(4, &[0, 1, 2], &[&[2], &[1, 0]]));
    assert_eq!(devices(&node, &each), "81 (same L3) 02+01 (same L3)");
    assert_eq!(gives(&node, &each), "6-11,18-23 0-5,12-17");
    assert_eq!(notes(&node, &each), <[String; 0]>::default());
    // Slurm counts others.
    let fewer = with("n=1 near=gpu", gres(2, &[0], &[]));
    assert_eq!(
        notes(&node, &fewer),
        [
            "--near=gpu: Slurm counts 2 such devices on this node, and this machine has 4; devices \
          are matched in PCI order; ask the administrator to compare gres.conf with `berth topo`"
        ]
    );
    let beyond = with("n=1 near=gpu", gres(8, &[2, 7], &[&[7]]));
    assert_eq!(devices(&node, &beyond), "81 (same L3)");
    let none = with("n=1 near=gpu:strict", gres(4, &[], &[]));
    assert_eq!(
        gives(&node, &none),
        "refused: --near=gpu:strict requests cores next to a device; Slurm counts 4 GPUs on this node and \
         gave this step none of those requested; request some, for example with --gpus-per-node"
    );
    let absent = with("n=1 near=gpu:strict", gres(6, &[5], &[]));
    assert_eq!(
        gives(&node, &absent),
        "refused: --near=gpu:strict requests cores next to a device; Slurm counts 6 on this node, this \
         machine has 4, and those that Slurm gave this step are not among them; ask the administrator \
         to compare gres.conf with `berth topo`"
    );
}

#[test]
fn slurms_gpus_restrict_gpus_alone() {
    let node = two_packages();
    let with = |request: &str, step: &[u32], tasks: &[&[u32]]| Request {
        gres: Some(Gres {
            on_node: 4,
            step: step.to_vec(),
            tasks: tasks.iter().map(|task| task.to_vec()).collect(),
        }),
        ..ask(request)
    };
    // The third GPU, by its name and by its class.
    let named = with("n=1 near=card129", &[2, 3], &[]);
    assert_eq!(devices(&node, &named), "81 (same L3)");
    let class = with("n=2 near=0302", &[2, 3], &[]);
    assert_eq!(devices(&node, &class), "81 (same L3) 82 (same L3)");
    let refused = gives(&node, &with("n=1 near=card1:strict", &[2, 3], &[]));
    assert!(
        refused.contains("gave this step none of those requested"),
        "{refused}"
    );
    // Named devices are those of every task, whatever Slurm binds.
    let named = with("n=2 near=card130", &[2, 3], &[&[2], &[3]]);
    assert_eq!(devices(&node, &named), "82 (same L3) 82 (same L3)");
    let bound = with("n=2 near=gpu:2", &[2, 3], &[&[2, 3], &[3]]);
    assert_eq!(
        notes(&node, &bound),
        [
            "--near=gpu:2: Slurm binds 1 such device to task 1 on this node, which is fewer; the tasks \
             are placed next to those that Slurm binds to them; change --gpus-per-task or --tres-bind, or \
             leave the number out"
        ]
    );
}

#[test]
fn what_cannot_be_is_refused_or_unbound() {
    let lenient = two_packages();
    // As with a --binding, the site decides; the CPUs are the step's.
    same(&lenient, "n=2 near=network", "0-23 0-23");
    let told = notes(&lenient, &ask("n=2 near=network"));
    assert!(told[0].contains("no task is bound"), "{told:?}");
    let strict = gives(&lenient, &ask("n=2 near=network:strict"));
    assert!(
        strict.starts_with("refused: --near=network:strict"),
        "{strict}"
    );
    let rules = Rules {
        refuse_failed_binding: true,
        ..lenient.rules()
    };
    let node = lenient.with_rules(rules);
    for (request, why) in [
        (
            "n=1 near=network",
            "--near=network requests cores next to a network adapter; this node has none; it has 4 \
             GPUs (card1, card2, card129, card130); name one of those, or leave --near out",
        ),
        (
            "n=1 near=ib0",
            "--near=ib0 requests cores next to the device ib0; this node has none; it has 4 GPUs \
             (card1, card2, card129, card130); name one of those, or leave --near out",
        ),
        (
            "n=1 near=gpu:5",
            "--near=gpu:5 requests 5 devices for each task; this step has 4 on this node; use a \
             smaller number, or leave it out to divide them evenly",
        ),
        (
            "n=1 near=gpu list=map_cpu:0",
            "--near=gpu and --cpu-bind=map_cpu:0 both choose the CPUs; drop one of them",
        ),
        (
            "n=1 near=gpu binding=linear:1",
            "--binding=linear:1 and --near=gpu both choose the CPUs; drop one of them",
        ),
    ] {
        same(&node, request, &format!("refused: {why}"));
    }
    let bare = self::node([1, 1, 1, 2, 1], &[]);
    let why = gives(&bare, &ask("n=1 near=gpu:strict"));
    assert!(
        why.contains("berth does not know the devices of this node"),
        "{why}"
    );
    // Nothing is bound, whatever stands beside it; and a script is no regular step.
    same(&node, "n=1 near=gpu list=none", "");
    let script = plan_batch(&ask("n=1 near=card1"), &node, &Claims::default()).unwrap();
    assert_eq!(script.tasks[0].cpus.to_string(), "0-23");
}

#[test]
fn devices_without_a_place_are_near_everything() {
    let node = node([2, 1, 1, 2, 1], &[(1, ""), (2, "0-3")]);
    same(&node, "n=2 near=gpu", "0-1 2-3");
    assert_eq!(
        devices(&node, &ask("n=2 near=gpu")),
        "01 (unknown) 02 (unknown)"
    );
    let told = notes(&node, &ask("n=2 near=gpu"));
    assert!(told[0].starts_with("hwloc does not know which cores are next to 0000:01:00.0"));
}

#[test]
fn own_devices_come_first() {
    let near = planned(&ask("n=4 near=gpu:2"), &two_packages())
        .unwrap()
        .near
        .unwrap();
    assert_eq!(near.order(3, false), [2, 3, 0, 1]);
    assert_eq!(near.order(3, true), [2, 3]);
    assert_eq!(near.order(0, false), [0, 1, 2, 3]);
}
