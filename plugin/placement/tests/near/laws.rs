//! What holds for every request on every machine.

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
                // The same request gives the same plan.
                prop_assert_eq!(planned(&request, &node).unwrap(), plan);
            }
            Err(Refusal::Near(why)) => prop_assert!(strict, "{why}"),
            Err(Refusal::NoPlace { .. }) => {}
            Err(why) => prop_assert!(false, "{why}"),
        }
    }
}
