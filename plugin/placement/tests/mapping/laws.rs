//! What holds for every mapping on every machine. Written from what the options mean.

use berth_placement::*;

use super::machines::{regular, request};
use super::random::Random;

const LEVELS: [(&str, ObjectKind); 7] = [
    ("package", ObjectKind::Package),
    ("numa", ObjectKind::Numa),
    ("l3cache", ObjectKind::L3),
    ("l2cache", ObjectKind::L2),
    ("l1cache", ObjectKind::L1),
    ("core", ObjectKind::Core),
    ("hwthread", ObjectKind::Pu),
];

/// Numbers from a seed that the test's output has.
fn here() -> Random {
    match super::common::config(1).rng_seed {
        proptest::test_runner::RngSeed::Fixed(seed) => Random::new(seed),
        proptest::test_runner::RngSeed::Random => Random::new(0),
    }
}

/// A machine, some of its CPUs, and a node.
fn anywhere(random: &mut Random) -> (Machine, CpuSet, Node) {
    let sizes = [1, 2, 2, 3].map(|most| random.within(1, most + 1));
    let machine = regular(sizes[0], sizes[1], random.within(1, 2), sizes[3], sizes[2]);
    let all: Vec<_> = machine.cpus().iter().collect();
    let some = random.some_of(all.len() as u32);
    let own: CpuSet = some.into_iter().map(|at| all[at as usize]).collect();
    let own = if own.is_empty() {
        machine.cpus().clone()
    } else {
        own
    };
    let node = Node::of(machine.clone(), SocketKind::Package, Rules::default());
    (machine, own, node)
}

fn planned(node: &Node, tasks: u32, words: &str, own: &CpuSet) -> Option<Plan> {
    let ask = request(tasks, words, Allocation::Cpus(own.clone())).ok()?;
    plan(&ask, node, &Claims::default()).ok()
}

#[test]
fn tasks_keep_to_one_object_of_the_levels_that_they_name() {
    let mut random = here();
    let mut spoken = 0;
    for _ in 0..4_000 {
        let (machine, own, node) = anywhere(&mut random);
        let (map, mapped) = random.pick(&LEVELS);
        let (bind, bound) = random.pick(&LEVELS);
        let hwt = random.pick(&["", ":hwtcpus"]);
        let rank = random.pick(&["slot", "fill", "span"]);
        let words = format!("--map-by={map}{hwt} --rank-by={rank} --bind-to={bind}");
        let tasks = random.within(1, own.count() as u32);
        let Some(plan) = planned(&node, tasks, &words, &own) else {
            continue;
        };
        spoken += 1;
        let inside = |kind: ObjectKind, cpus: &CpuSet| {
            machine
                .objects(kind)
                .iter()
                .any(|object| cpus.is_subset(object))
        };
        for task in &plan.tasks {
            let cpus = &task.cpus;
            assert!(
                !cpus.is_empty() && cpus.is_subset(&own),
                "{words} on {own}: {cpus}"
            );
            assert!(
                inside(mapped, cpus) && inside(bound, cpus),
                "{words} on {own}: {cpus}"
            );
        }
        // Each task uses up one CPU, so no object has more tasks than CPUs.
        for object in machine.objects(ObjectKind::Package) {
            let here = plan
                .tasks
                .iter()
                .filter(|task| task.cpus.is_subset(&object));
            assert!(
                here.count() <= object.intersection(&own).count(),
                "{words} on {own}"
            );
        }
    }
    assert!(spoken > 400, "{spoken}");
}

#[test]
fn several_cpus_of_a_task_are_its_own() {
    let mut random = here();
    let mut spoken = 0;
    for _ in 0..4_000 {
        let (_, own, node) = anywhere(&mut random);
        let target = random.pick(&["slot", "package", "numa", "l3cache", "ppr:2:package"]);
        let each = random.within(1, 3);
        let hwt = random.pick(&["", ":hwtcpus"]);
        let words = format!("--map-by={target}:pe={each}{hwt}");
        let Some(plan) = planned(&node, random.within(1, 6), &words, &own) else {
            continue;
        };
        if !plan.is_bound()
            || plan
                .notes
                .iter()
                .any(|note| matches!(note, Note::Mapping { .. }))
        {
            continue;
        }
        spoken += 1;
        let mut taken = CpuSet::new();
        for task in &plan.tasks {
            assert!(!taken.intersects(&task.cpus), "{words} on {own}");
            taken.insert_all(&task.cpus);
        }
    }
    assert!(spoken > 400, "{spoken}");
}

#[test]
fn ranking_only_changes_the_order() {
    let mut random = here();
    for _ in 0..2_000 {
        let (_, own, node) = anywhere(&mut random);
        let (map, _) = random.pick(&LEVELS);
        let tasks = random.within(1, 8);
        let sets = |rank: &str| {
            let words = format!("--map-by={map} --rank-by={rank} --bind-to=hwthread");
            let plan = planned(&node, tasks, &words, &own)?;
            let mut sets: Vec<_> = plan
                .tasks
                .iter()
                .map(|task| task.cpus.to_string())
                .collect();
            sets.sort();
            Some(sets)
        };
        let slot = sets("slot");
        assert!(
            ["fill", "span", "node"]
                .into_iter()
                .all(|rank| sets(rank) == slot),
            "{map} {own}"
        );
    }
}
