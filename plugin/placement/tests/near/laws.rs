//! What holds for every request on every machine.

use std::collections::{BTreeMap, BTreeSet};

use berth_placement::*;
use proptest::prelude::*;

use crate::common;
use crate::making::*;

/// A device's place: nothing, or one of the objects of a kind.
fn place(size: Size, kind: u32, which: u32) -> String {
    let [packages, numa, l3, ..] = size.0;
    let count = match kind {
        0 => return String::new(),
        1 => packages,
        2 => packages * numa,
        _ => packages * numa * l3,
    };
    size.parts(count)[(which % count) as usize].to_string()
}

/// The usable CPUs next to a task's devices.
fn place_of(node: &Node, plan: &Plan, task: usize, usable: &CpuSet) -> CpuSet {
    let machine = node.machine().unwrap();
    let mut place = CpuSet::new();
    for device in plan.near.as_ref().unwrap().devices(task) {
        let cpus = &machine.devices()[device as usize].cpus;
        place.insert_all(if cpus.is_empty() {
            machine.cpus()
        } else {
            cpus
        });
    }
    place.intersection(usable)
}

/// The CPUs of all tasks whose devices have the same place.
fn by_place(node: &Node, plan: &Plan, usable: &CpuSet) -> BTreeMap<CpuSet, CpuSet> {
    let mut all: BTreeMap<CpuSet, CpuSet> = BTreeMap::new();
    for (id, task) in plan.tasks.iter().enumerate() {
        let place = place_of(node, plan, id, usable);
        all.entry(place).or_default().insert_all(&task.cpus);
    }
    all
}

/// Whether two tasks have hardware threads of one of these sets.
fn shared(plan: &Plan, among: &[CpuSet]) -> bool {
    let tasks = |set: &CpuSet| {
        plan.tasks
            .iter()
            .filter(|task| task.cpus.intersects(set))
            .count()
    };
    among.iter().any(|set| tasks(set) > 1)
}

proptest! {
    #![proptest_config(common::config(600))]

    /// The share divides what `--near` alone divides, and as evenly.
    #[test]
    fn a_share_is_of_what_is_near(
        size in (1u32..3, 1u32..3, 1u32..3, 1u32..5, 1u32..3),
        gpus in prop::collection::vec((0u32..4, 0u32..8), 1..6),
        tasks in 1u32..20,
        (owned, taken) in (prop::collection::vec(prop::bool::weighted(0.8), 64), any::<u64>()),
        one_thread in any::<bool>(),
    ) {
        let size = Size([size.0, size.1, size.2, size.3, size.4]);
        let places: Vec<_> = gpus.iter().map(|(kind, which)| place(size, *kind, *which)).collect();
        let buses: Vec<_> = (1..).zip(&places).map(|(bus, place)| (bus, place.as_str())).collect();
        let node = Node::of(machine(size, &buses), SocketKind::Package, Rules::default());
        let [packages, numa, l3, cores_count, _] = size.0;
        let cores = size.parts(packages * numa * l3 * cores_count);
        let all = node.machine().unwrap().cpus();
        let own: CpuSet = all.iter().filter(|cpu| owned[cpu.index()]).collect();
        let taken: CpuSet = all.iter().filter(|cpu| taken >> cpu.0 & 7 == 7).collect();
        // A core is usable whole or, if others have a part of it, not at all.
        let free: Vec<_> = cores.iter().filter(|core| !core.intersects(&taken)).collect();
        let limit = if one_thread { 1 } else { usize::MAX };
        let free = free.iter().flat_map(|core| core.iter().filter(|cpu| own.contains(*cpu)).take(limit));
        let usable: CpuSet = free.collect();
        prop_assume!(usable.count() >= tasks as usize);
        let near = Request {
            tasks,
            near: Some("gpu".parse().unwrap()),
            allocation: Allocation::Cpus(own),
            cpu_bind: CpuBind { one_thread, ..CpuBind::default() },
            ..Request::default()
        };
        let auto = Request { binding: Some("auto".parse().unwrap()), ..near.clone() };
        let claims = Claims { taken, ..Claims::default() };
        let (near, auto) = (plan(&near, &node, &claims).unwrap(), plan(&auto, &node, &claims).unwrap());
        prop_assert_eq!(&near.near.as_ref().unwrap().parts, &auto.near.as_ref().unwrap().parts);
        // No core outside those of the group, and none of them idle. Where these are too few for all
        // tasks, one core can have tasks of different places.
        let by_near = by_place(&node, &near, &usable);
        let fits = by_near.iter().all(|(place, cpus)| cpus.is_subset(place));
        if fits && !shared(&near, &cores) {
            prop_assert_eq!(by_near, by_place(&node, &auto, &usable));
        }
        let cpus: Vec<CpuSet> = all.iter().map(|cpu| std::iter::once(cpu).collect()).collect();
        prop_assert!(!shared(&auto, &cpus));
        prop_assert!(shared(&near, &cores) || !shared(&auto, &cores));
        let chosen = auto.chosen.as_ref().unwrap();
        for (id, task) in auto.tasks.iter().enumerate() {
            prop_assert_eq!(&chosen.cpus_of_task(id), &task.cpus);
        }
        // Inside one cache that is all of a place sizes differ by one core at most.
        let sizes = |cache: &CpuSet| {
            let own = auto.tasks.iter().enumerate().filter(|(_, task)| task.cpus.is_subset(cache));
            let sizes: Vec<_> = own.map(|(id, _)| chosen.of_task(id).len()).collect();
            sizes.iter().max().copied().unwrap_or(0) - sizes.iter().min().copied().unwrap_or(0)
        };
        for cache in size.parts(packages * numa * l3) {
            let others = auto.tasks.iter().filter(|task| task.cpus.intersects(&cache));
            let is_apart = others.clone().all(|task| task.cpus.is_subset(&cache));
            let ids = (0..auto.tasks.len()).filter(|id| auto.tasks[*id].cpus.is_subset(&cache));
            let of: BTreeSet<_> = ids.map(|id| place_of(&node, &auto, id, &usable)).collect();
            if is_apart && of.len() == 1 && !shared(&auto, &cores) {
                prop_assert!(sizes(&cache) <= 1, "{cache}");
            }
        }
    }

    /// A device that is next to all cores changes nothing.
    #[test]
    fn a_share_next_to_everything_is_a_share(
        size in (1u32..3, 1u32..3, 1u32..3, 1u32..5, 1u32..3),
        (tasks, cpus_per_task) in (1u32..20, 1u32..4),
        words in prop::sample::select(&["auto", "auto:pack", "auto:smt=1", "env:auto", "strict:auto"][..]),
        (owned, taken) in (prop::collection::vec(prop::bool::weighted(0.8), 64), any::<u64>()),
        one_thread in any::<bool>(),
    ) {
        let size = Size([size.0, size.1, size.2, size.3, size.4]);
        let node = Node::of(machine(size, &[(1, "")]), SocketKind::Package, Rules::default());
        let all = node.machine().unwrap().cpus();
        let own: CpuSet = all.iter().filter(|cpu| owned[cpu.index()]).collect();
        prop_assume!(!own.is_empty());
        let taken: CpuSet = all.iter().filter(|cpu| taken >> cpu.0 & 3 == 3).collect();
        let alone = Request {
            tasks,
            cpus_per_task,
            binding: Some(words.parse().unwrap()),
            allocation: Allocation::Cpus(own),
            cpu_bind: CpuBind { one_thread, ..CpuBind::default() },
            ..Request::default()
        };
        let near = Request { near: Some("gpu".parse().unwrap()), ..alone.clone() };
        let claims = Claims { taken, ..Claims::default() };
        match (plan(&alone, &node, &claims), plan(&near, &node, &claims)) {
            (Ok(alone), Ok(near)) if alone.chosen.is_some() == near.chosen.is_some() => {
                prop_assert_eq!(&alone.tasks, &near.tasks);
                prop_assert_eq!(&alone.message, &near.message);
                prop_assert_eq!(&alone.chosen, &near.chosen);
            }
            // Fewer cores can be easier to divide by -c.
            (alone, Ok(near)) if near.chosen.is_some() => {
                let is_failed = |plan: &Plan| plan.decision.rule == Rule::BindingFailed;
                let failed = alone.as_ref().is_ok_and(is_failed) || matches!(alone, Err(Refusal::BindingFailed(_)));
                prop_assert!(cpus_per_task > 1 && failed);
                let enough = |id| near.chosen.as_ref().unwrap().cpus_of_task(id).count();
                prop_assert!((0..tasks as usize).all(|id| enough(id) >= cpus_per_task as usize));
            }
            (alone, near) => {
                prop_assert!(matches!(alone, Err(Refusal::BindingFailed(_))), "{:?}", alone);
                prop_assert!(matches!(near, Err(Refusal::BindingFailed(_))), "{:?}", near);
            }
        }
    }
}

proptest! {
    #![proptest_config(common::config(400))]
    #[test]
    fn laws(
        size in (1u32..3, 1u32..3, 1u32..3, 1u32..5, 1u32..3),
        gpus in prop::collection::vec((0u32..4, 0u32..8), 1..6),
        (tasks, cpus_per_task) in (1u32..20, 1u32..6),
        each in prop::option::of(1u32..3),
        (owned, reserved) in (prop::collection::vec(prop::bool::weighted(0.7), 64), any::<u64>()),
        (strict, one_thread, exact) in (any::<bool>(), any::<bool>(), any::<bool>()),
    ) {
        let size = Size([size.0, size.1, size.2, size.3, size.4]);
        let places: Vec<_> = gpus.iter().map(|(kind, which)| place(size, *kind, *which)).collect();
        let buses: Vec<_> = (1..).zip(&places).map(|(bus, place)| (bus, place.as_str())).collect();
        let node = Node::of(machine(size, &buses), SocketKind::Package, Rules::default());
        let machine = node.machine().unwrap();
        let own: CpuSet = machine.cpus().iter().filter(|cpu| owned[cpu.index()]).collect();
        prop_assume!(!own.is_empty());
        let kept: CpuSet = machine.cpus().iter().filter(|cpu| reserved >> cpu.0 & 7 == 7).collect();
        let request = Request {
            tasks,
            cpus_per_task,
            near: Some(Near { what: "gpu".parse().unwrap(), each, strict, own: false }),
            allocation: Allocation::Cpus(own.clone()),
            cpu_bind: CpuBind {
                one_thread,
                level: exact.then_some(Level::Threads),
                ..CpuBind::default()
            },
            reserved: kept.clone(),
            ..Request::default()
        };
        let free = own.difference(&kept);
        if free.is_empty() {
            // A step that has nothing else runs there.
            let alone = Request { reserved: CpuSet::new(), ..request.clone() };
            let (found, alone) = (planned(&request, &node), planned(&alone, &node));
            let tasks = |plan: Result<Plan, Refusal>| plan.ok().map(|plan| plan.tasks);
            prop_assert_eq!(tasks(found), tasks(alone));
            return Ok(());
        }
        let usable = free;
        match planned(&request, &node) {
            Ok(plan) => {
                let Some(near) = plan.near.as_ref() else {
                    if plan.decision.rule == Rule::TooManyReserved {
                        // Slurm granted enough, and the tasks share what is not reserved.
                        prop_assert!(!strict && kept.intersects(&own) && plan.notes.len() == 1);
                        prop_assert!(plan.tasks.iter().all(|task| task.cpus == usable));
                        return Ok(());
                    }
                    // Too few devices: it runs unbound, unless it is strict.
                    prop_assert!(each.is_some_and(|each| each as usize > gpus.len()));
                    prop_assert!(!strict && plan.decision.rule == Rule::BindingFailed);
                    return Ok(());
                };
                let mut seen = CpuSet::new();
                let mut shared = false;
                let mut far = false;
                for (id, task) in plan.tasks.iter().enumerate() {
                    prop_assert!(!task.cpus.is_empty());
                    prop_assert!(task.cpus.is_subset(&usable), "{} of {usable}", task.cpus);
                    shared |= seen.intersects(&task.cpus);
                    seen.insert_all(&task.cpus);
                    let mut place = CpuSet::new();
                    for device in near.devices(id) {
                        let cpus = &machine.devices()[device as usize].cpus;
                        place.insert_all(if cpus.is_empty() { machine.cpus() } else { cpus });
                    }
                    prop_assert!(near.own(id).len() <= gpus.len() && !near.own(id).is_empty());
                    far |= !task.cpus.is_subset(&place);
                }
                // Without --overcommit no CPU has two tasks.
                prop_assert!(!shared);
                prop_assert!(!(far && strict));
                let short = plan.tasks.iter().any(|task| (task.cpus.count() as u32) < cpus_per_task);
                prop_assert!(!(short && strict));
                let told = plan.notes.iter().any(|note| matches!(note, Note::Near(NearNote::NotNear { .. })));
                prop_assert_eq!(told, far);
                // A second plan of this request is equal to the first.
                prop_assert_eq!(planned(&request, &node).unwrap(), plan);
            }
            Err(Refusal::Near(why)) => prop_assert!(strict, "{why}"),
            Err(Refusal::NoPlace { .. }) => {}
            Err(why) => prop_assert!(false, "{why}"),
        }
    }
}

/// One task has a device of each NUMA node of a package, the others have one of the package: the same cores are next to all.
#[test]
fn tasks_with_the_same_cores_next_to_them_divide_these_evenly() {
    let size = Size([2, 2, 1, 4, 2]);
    let places = [(2, 1), (2, 0), (1, 0), (1, 0)].map(|(kind, which)| place(size, kind, which));
    let buses: Vec<_> = (1..)
        .zip(&places)
        .map(|(bus, place)| (bus, place.as_str()))
        .collect();
    let node = Node::of(machine(size, &buses), SocketKind::Package, Rules::default());
    let request = Request {
        tasks: 3,
        near: Some("gpu".parse().unwrap()),
        binding: Some("auto".parse().unwrap()),
        allocation: Allocation::Cpus(CpuSet::from_list("5,16-20,23,31").unwrap()),
        ..Request::default()
    };
    let found = plan(&request, &node, &Claims::default()).unwrap();
    let cpus: Vec<_> = found
        .tasks
        .iter()
        .map(|task| task.cpus.to_string())
        .collect();
    assert_eq!(cpus, ["16-17", "18-19", "5,20,23"]);
}
