//! The law of `--binding=auto`, by brute force: every machine of up to twelve cores, divided by packages,
//! NUMA nodes and L3 caches in every way, with one task up to one for each hardware thread.
//!
//! No task spans two objects of a level if a split exists in which none does and no task is left
//! without a core. Each core has one task while there are as many cores as tasks, and none is idle.

use std::collections::BTreeMap;

use berth_placement::*;

/// Cores of each L3 cache, in each NUMA node, in each package.
type Shape3 = Vec<Vec<Vec<u32>>>;

/// Every way to write a number as a sum of numbers, the largest first.
fn partitions(sum: u32, most: u32) -> Vec<Vec<u32>> {
    if sum == 0 {
        return vec![Vec::new()];
    }
    let with_first = |first: u32| {
        let rest = partitions(sum - first, first).into_iter();
        rest.map(move |rest| [vec![first], rest].concat())
    };
    (1..=sum.min(most)).flat_map(with_first).collect()
}

/// Every way to choose one thing of each size, in any order; of equal sizes each choice once.
fn choices<T: Clone>(sizes: &[u32], of: &BTreeMap<u32, Vec<T>>) -> Vec<Vec<T>> {
    fn put<T: Clone>(
        sizes: &[u32],
        of: &BTreeMap<u32, Vec<T>>,
        from: usize,
        out: &mut Vec<Vec<T>>,
        own: &mut Vec<T>,
    ) {
        let Some((size, rest)) = sizes.split_first() else {
            out.push(own.clone());
            return;
        };
        for (at, one) in of[size].iter().enumerate().skip(from) {
            own.push(one.clone());
            let next = if rest.first() == Some(size) { at } else { 0 };
            put(rest, of, next, out, own);
            own.pop();
        }
    }
    let mut out = Vec::new();
    put(sizes, of, 0, &mut out, &mut Vec::new());
    out
}

/// Every machine with so many cores, but for the order of its objects.
fn machines(most: u32) -> Vec<(u32, Shape3)> {
    let caches = |cores: u32| partitions(cores, cores);
    let nodes: BTreeMap<u32, Vec<Vec<u32>>> =
        (1..=most).map(|cores| (cores, caches(cores))).collect();
    let packages: BTreeMap<u32, Vec<Vec<Vec<u32>>>> = (1..=most)
        .map(|cores| {
            let of = |sizes: &Vec<u32>| choices(sizes, &nodes);
            (
                cores,
                partitions(cores, cores).iter().flat_map(of).collect(),
            )
        })
        .collect();
    let of_size = |cores: u32| {
        let of = |sizes: &Vec<u32>| choices(sizes, &packages);
        let all: Vec<Shape3> = partitions(cores, cores).iter().flat_map(of).collect();
        all.into_iter().map(move |shape| (cores, shape))
    };
    (1..=most).flat_map(of_size).collect()
}

/// The node of a shape, with its objects in this order or the reverse: the engine must not depend on large objects
/// coming first.
fn node(shape: &Shape3, threads: u32, reverse: bool) -> (Node, Vec<Vec<CpuSet>>) {
    let mut parts = Parts::default();
    let mut next = 0;
    let order = |count: usize| -> Vec<usize> {
        let mut order: Vec<_> = (0..count).collect();
        if reverse {
            order.reverse();
        }
        order
    };
    let mut packages = Vec::new();
    for package in order(shape.len()) {
        let (before, mut cores) = (next, Vec::new());
        for numa in order(shape[package].len()) {
            let first = next;
            for cache in order(shape[package][numa].len()) {
                let start = next;
                for _ in 0..shape[package][numa][cache] {
                    let pus = (next..next + threads).map(CpuId).collect();
                    cores.push(Core { pus });
                    next += threads;
                }
                parts.l3_caches.push((start..next).map(CpuId).collect());
            }
            let id = NumaId(parts.numa_nodes.len() as u32);
            let cpus = (first..next).map(CpuId).collect();
            parts.numa_nodes.push(NumaNode { id, cpus });
        }
        parts.packages.push(Package { cores });
        packages.push((before..next).map(CpuId).collect());
    }
    parts.allowed = CpuSet::first(next);
    let nodes = parts
        .numa_nodes
        .iter()
        .map(|node| node.cpus.clone())
        .collect();
    let levels = vec![packages, nodes, parts.l3_caches.clone()];
    let machine = Machine::new(parts).expect("a machine");
    (
        Node::of(machine, SocketKind::Package, Rules::default()),
        levels,
    )
}

/// Whether units can be divided among tasks so that each task has one or more, each unit has one task,
/// and no task has units of two objects: every object then has between one task and one for each unit.
fn can_stay_inside(units: &[u32], tasks: u32) -> bool {
    (units.len() as u32..=units.iter().sum()).contains(&tasks)
}

/// The law for one machine, with one task up to one for each hardware thread.
fn judge(shape: &Shape3, cores: u32, threads: u32, reverse: bool) {
    let (node, levels) = node(shape, threads, reverse);
    for tasks in 1..=cores * threads {
        let request = Request {
            tasks,
            binding: "auto".parse().ok(),
            ..Request::default()
        };
        let plan = plan(&request, &node, &Claims::default()).expect("a plan");
        let say = || format!("{shape:?} × {threads} threads, {tasks} tasks, reverse: {reverse}");
        let masks: Vec<&CpuSet> = plan.tasks.iter().map(|task| &task.cpus).collect();
        let all: usize = masks.iter().map(|mask| mask.count()).sum();
        let mut union = CpuSet::new();
        masks.iter().for_each(|mask| union.insert_all(mask));
        assert_eq!(
            union.count(),
            (cores * threads) as usize,
            "an idle CPU: {}",
            say()
        );
        assert_eq!(all, union.count(), "a CPU with two tasks: {}", say());
        assert!(masks.iter().all(|mask| !mask.is_empty()), "{}", say());
        assert!(plan.notes.is_empty(), "{}", say());
        let by_thread = tasks > cores;
        for objects in &levels {
            let units = |cpus: &CpuSet| match by_thread {
                true => cpus.count() as u32,
                false => cpus.count() as u32 / threads,
            };
            let units: Vec<u32> = objects.iter().map(units).collect();
            if can_stay_inside(&units, tasks) {
                let inside = |mask: &&CpuSet| objects.iter().any(|object| mask.is_subset(object));
                assert!(masks.iter().all(inside), "a task spans objects: {}", say());
            }
        }
        let core = |mask: &CpuSet| mask.lowest().map(|cpu| cpu.0 / threads);
        if by_thread {
            let inside = |mask: &&CpuSet| core(mask) == mask.highest().map(|cpu| cpu.0 / threads);
            assert!(masks.iter().all(inside), "a task spans cores: {}", say());
        }
        in_order_and_even(&masks, &levels[2], (threads, by_thread), &say);
    }
}

/// Neighbouring tasks are neighbours, and inside one cache sizes differ by at most one core.
fn in_order_and_even(
    masks: &[&CpuSet],
    caches: &[CpuSet],
    (threads, by_thread): (u32, bool),
    say: &dyn Fn() -> String,
) {
    let starts: Vec<_> = masks.iter().map(|mask| mask.lowest()).collect();
    assert!(starts.is_sorted(), "out of order: {}", say());
    for cache in caches {
        let inside = masks.iter().filter(|mask| mask.is_subset(cache));
        let sizes: Vec<_> = inside.map(|mask| mask.count() as u32).collect();
        let (Some(least), Some(most)) = (sizes.iter().min(), sizes.iter().max()) else {
            continue;
        };
        // Some tasks may have a whole core where others have a part of one.
        let unit = if by_thread {
            threads.max(2) - 1
        } else {
            threads
        };
        assert!(most - least <= unit, "uneven: {}", say());
    }
}

#[test]
fn no_task_spans_what_it_need_not_on_every_machine_of_twelve_cores() {
    let machines = machines(12);
    assert_eq!(machines.iter().filter(|(cores, _)| *cores == 4).count(), 30);
    for (cores, shape) in &machines {
        judge(shape, *cores, 1, false);
    }
}

#[test]
fn the_same_in_reverse_and_with_hardware_threads() {
    for (cores, shape) in machines(8) {
        judge(&shape, cores, 1, true);
        judge(&shape, cores, 2, false);
        judge(&shape, cores, 3, true);
    }
}
