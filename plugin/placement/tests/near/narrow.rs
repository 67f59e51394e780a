//! `--near` beside wishes that it narrows: `--binding=auto`, and a mapping by slot or core.

use berth_placement::*;

use crate::making::*;

/// Each task's cores as a `--binding` names them.
fn chosen(plan: &Plan) -> Vec<String> {
    let chosen = plan.chosen.as_ref().unwrap();
    let task = |id| berth_placement::answer::cores::places(chosen.of_task(id));
    (0..plan.tasks.len()).map(task).collect()
}

fn beside(request: &str, node: &Node, taken: &str) -> Result<Plan, Refusal> {
    let claims = Claims {
        taken: CpuSet::from_list(taken).unwrap_or_default(),
        ..Claims::default()
    };
    plan(&ask(request), node, &claims)
}

fn cpus(plan: &Plan) -> String {
    let cpus = plan.tasks.iter().map(|task| task.cpus.to_string());
    cpus.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_share_is_of_the_cores_next_to_the_devices() {
    let node = two_packages();
    // By itself a share is of all cores, and --near alone is a share of those next to the devices.
    same(&node, "n=3 binding=auto", "0-2,12-14 3-5,15-17 6-11,18-23");
    for near in ["n=3 near=gpu:1", "n=3 near=gpu:1 binding=auto"] {
        same(&node, near, "0-2,12-14 3-5,15-17 6-11,18-23");
    }
    // Two tasks next to the first package's GPUs; the other package stays idle.
    same(&node, "n=2 near=gpu:1 binding=auto", "0-2,12-14 3-5,15-17");
    // A level beside it gives way, as without a --near.
    same(
        &node,
        "n=2 near=gpu:1 binding=auto level=threads",
        "0-2,12-14 3-5,15-17",
    );
    let dies = "48-55,112-119 56-63,120-127 16-23,80-87 24-31,88-95 0-7,64-71 8-15,72-79 \
                32-39,96-103 40-47,104-111";
    same(&eight_dies(), "n=8 near=gpu binding=auto", dies);
    // Three tasks of one L3 cache each keep to objects: 16 cores of a NUMA node for two devices.
    assert_eq!(
        devices(&eight_dies(), &ask("n=4 near=gpu binding=auto")),
        "c1+c6 (same NUMA node) c9+ce (same NUMA node) d1+d6 (same NUMA node) d9+de (same NUMA node)"
    );
}

/// `--near` alone cuts a row of cores, and a share keeps tasks inside objects.
#[test]
fn a_share_keeps_to_objects_where_near_alone_does_not() {
    let node = node([1, 1, 2, 4, 1], &[(1, "0-7")]);
    same(&node, "n=3 near=gpu", "0-2 3-5 6-7");
    same(&node, "n=3 near=gpu binding=auto", "0-1 2-3 4-7");
}

#[test]
fn the_words_of_a_share_mean_the_same() {
    let node = two_packages();
    let with = |words: &str| format!("n=4 near=gpu {words}");
    for (words, cpus) in [
        ("binding=auto c=2", "0,12 3,15 6,18 9,21"),
        ("binding=auto:pack c=2", "0,12 1,13 6,18 7,19"),
        ("binding=auto:smt=1", "0-2 3-5 6-8 9-11"),
        ("binding=auto:smt=1 c=2", "0-1 3-4 6-7 9-10"),
        ("binding=auto one_thread", "0-2 3-5 6-8 9-11"),
        ("binding=auto one_thread reserved=0", "1-3 4-5 6-8 9-11"),
        (
            "binding=auto:smt=2 one_thread",
            "0-2,12-14 3-5,15-17 6-8,18-20 9-11,21-23",
        ),
    ] {
        same(&node, &with(words), cpus);
    }
    // With fewer cores than tasks hardware threads are divided.
    same(
        &node,
        "n=4 near=gpu:1 binding=auto cpus=0-1,6-7,12-13,18-19",
        "0,12 1,13 6,18 7,19",
    );
    same(
        &node,
        "n=8 near=gpu binding=auto cpus=0-1,6-7,12-13,18-19",
        "0 12 1 13 6 18 7 19",
    );
    // With fewer hardware threads than tasks they run by turns, as without --near; one note says so.
    let crowd = planned(&ask("n=3 near=gpu binding=auto cpus=0,12"), &node).unwrap();
    assert_eq!(cpus(&crowd), "0 0 12");
    let told: Vec<_> = crowd.notes.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[0].starts_with("3 tasks on this node share 2 hardware threads"),
        "{told:?}"
    );
}

#[test]
fn the_plan_says_both() {
    let node = two_packages();
    let plan = planned(&ask("n=4 c=2 near=gpu binding=auto"), &node).unwrap();
    assert_eq!(plan.decision.rule.to_string(), "near:gpu,binding:auto");
    let Rule::Narrowed(_, by) = &plan.decision.rule else {
        panic!("{:?}", plan.decision.rule);
    };
    let Rule::Share(_, out) = **by else {
        panic!("{by:?}");
    };
    assert_eq!((out.unit, out.cores, out.threads), (Unit::Cores, 12, 24));
    assert_eq!(chosen(&plan), ["0,0", "0,3", "1,0", "1,3"]);
    assert_eq!(plan.notes, []);
    assert_eq!(
        devices(&node, &ask("n=4 c=2 near=gpu binding=auto")),
        "01 (same L3) 02 (same L3) 81 (same L3) 82 (same L3)"
    );
}

/// Nothing is bound, and each task's variables name cores next to its own device.
#[test]
fn the_instance_env_binds_nothing() {
    let node = two_packages();
    let words = "n=4 c=2 near=gpu binding=env:auto cpus=0-3,6-9";
    let plan = planned(&ask(words), &node).unwrap();
    assert_eq!(cpus(&plan), ["0-3,6-9"; 4].join(" "));
    assert!(matches!(plan.message, Message::Shared { .. }));
    assert_eq!(chosen(&plan), ["0,0:0,1", "0,2:0,3", "1,0:1,1", "1,2:1,3"]);
    // The distance is that of the cores that the variables name.
    assert_eq!(
        devices(&node, &ask(words)),
        "01 (same L3) 02 (same L3) 81 (same L3) 82 (same L3)"
    );
    assert_eq!(plan.notes, []);
    assert!(planned(&ask(&words.replace("gpu", "gpu:strict")), &node).is_ok());
}

#[test]
fn cores_that_others_have_taken_are_left_to_them() {
    let node = two_packages();
    let words = "n=4 near=gpu binding=auto";
    let some = beside(words, &node, "0,14,6").unwrap();
    assert_eq!(cpus(&some), "1,3,13,15 4-5,16-17 7-9,19-21 10-11,22-23");
    assert_eq!(some.notes, []);
    // Others have all that is next to the first two devices.
    let far = beside(words, &node, "0-5").unwrap();
    assert_eq!(cpus(&far), "6-7,18-19 8,20 9-10,21-22 11,23");
    let told = far.notes[0].to_string();
    assert!(told.contains("2 tasks on this node"), "{told}");
    let strict = beside("n=4 near=gpu:strict binding=auto", &node, "0-5");
    let why = strict.unwrap_err().to_string();
    assert!(why.starts_with("--near=gpu:strict is strict"), "{why}");
    // Others have all.
    let none = beside(words, &node, "0-11").unwrap();
    assert_eq!(none.decision.rule, Rule::BindingFailed);
    assert_eq!((none.chosen, none.near), (None, None));
    assert_eq!(
        none.notes[0].to_string(),
        "--binding=auto with --near=gpu asks for cores for 2 tasks next to the same devices; other \
         steps are bound to all cores of this step on this node; no task is bound, and every task \
         may use all CPUs of the step"
    );
    for strict in [
        "n=4 near=gpu:strict binding=auto",
        "n=4 near=gpu binding=strict:auto",
    ] {
        let why = beside(strict, &node, "0-11").unwrap_err();
        assert!(matches!(why, Refusal::BindingFailed(_)), "{strict}: {why}");
    }
}

#[test]
fn what_does_not_fit_next_to_its_device() {
    let node = two_packages();
    // Two tasks of four cores: the second one goes on to the other package.
    let words = "n=2 c=8 near=gpu:1 binding=auto";
    same(&node, words, "0-3,12-15 6-9,18-21");
    let told = notes(&node, &ask(words));
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("task 1 on this node gets"));
    let strict = gives(&node, &ask(&words.replace("gpu:1", "gpu:1:strict")));
    assert!(strict.starts_with("refused: --near=gpu:1:strict is strict"));
    // Each task needs two cores. There are CPUs enough for four tasks next to the device, and cores only
    // for three.
    let words = "n=4 c=3 near=card1 binding=auto";
    same(&node, words, "0-1,12-13 2-3,14-15 4-5,16-17 6-7,18-19");
    assert_eq!(notes(&node, &ask(words)).len(), 1);
    // Nor elsewhere.
    let words = "n=4 c=9 near=gpu binding=auto";
    let plan = planned(&ask(words), &node).unwrap();
    assert_eq!(plan.decision.rule, Rule::BindingFailed);
    assert_eq!(
        plan.notes[0].to_string(),
        "--binding=auto with --near=gpu asks for 2 tasks × 9 CPUs next to the same devices; the step \
         has 6 free cores with 12 CPUs to use there, and the smallest share has 6; use fewer tasks or \
         a smaller -c; no task is bound, and every task may use all CPUs of the step"
    );
    for strict in ["gpu:strict", "gpu binding=strict:auto"] {
        let words = format!("n=4 c=9 binding=auto near={strict}");
        let why = planned(&ask(&words), &node).unwrap_err();
        assert!(matches!(why, Refusal::BindingFailed(_)), "{why}");
    }
    same(
        &node,
        "n=2 near=gpu binding=linear:1",
        "refused: --binding=linear:1 and --near=gpu both choose the CPUs; drop one of them",
    );
    same(
        &node,
        "n=2 near=gpu binding=auto map=core",
        "refused: --binding=auto and --map-by=core both choose the CPUs; drop one of them",
    );
}

#[test]
fn it_narrows_a_mapping_by_slot_or_core() {
    let node = two_packages();
    // By itself a mapping fills the first package.
    same(&node, "n=4 map=core", "0,12 1,13 2,14 3,15");
    same(&node, "n=4 map=core near=gpu", "0,12 1,13 6,18 7,19");
    same(
        &node,
        "n=4 map=slot:pe=2 near=gpu",
        "0-1,12-13 2-3,14-15 6-7,18-19 8-9,20-21",
    );
    assert_eq!(
        devices(&node, &ask("n=4 map=core near=gpu")),
        "01 (same L3) 02 (same L3) 81 (same L3) 82 (same L3)"
    );
    same(
        &node,
        "n=4 map=package near=gpu",
        "refused: --map-by=package and --near=gpu both choose the CPUs; drop one of them",
    );
    let full = gives(&node, &ask("n=4 map=slot:pe=4 near=gpu"));
    assert!(full.starts_with("refused: --map-by"), "{full}");
}
