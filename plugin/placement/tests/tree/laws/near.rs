//! `--near=gpu` on any machine, alone or beside `--binding=auto`: tasks get CPUs of the step alone, and those
//! of the nearest object that has enough of them, found by trying all.

use std::collections::BTreeSet;

use berth_placement::CpuSet;

use super::super::asking::plain;
use super::super::door::Ask;
use super::super::facts::Tree;
use super::super::harness::{Case, Law, Verdict};
use super::super::random::Random;
use super::same::renumbered;

pub const APART: Law = Law {
    name: "near: every task has CPUs of the step, and none has those of another",
    request: |random, tree| requested(random, tree, 4),
    holds: apart,
};

pub const NEAREST: Law = Law {
    name: "near: tasks share all of the nearest object around their GPU that has a CPU for each",
    request: |random, tree| requested(random, tree, 1),
    holds: nearest,
};

pub const RENUMBERED: Law = Law {
    name: "near: other kernel numbers change nothing but the numbers",
    request: |random, tree| requested(random, tree, 4),
    holds: renumbered,
};

/// A request near GPUs, each next to some object of the machine.
fn requested(random: &mut Random, tree: &Tree, most: u32) -> Ask {
    let request = plain(random, tree, &[None]);
    let objects = objects(tree);
    let last = objects.len() as u32 - 1;
    let mut gpu = |_| objects[random.within(0, last) as usize].clone();
    let mut gpus: Vec<CpuSet> = (0..most).map(&mut gpu).collect();
    gpus.truncate(random.within(1, most) as usize);
    let binding = random.pick(&[None, Some("auto")]);
    Ask {
        cpus_per_task: 1,
        gpus,
        binding: binding.map(String::from),
        ..request
    }
}

/// Everything that can be around a GPU, and the whole machine.
fn objects(tree: &Tree) -> Vec<CpuSet> {
    let (machine, parts) = (&tree.machine, tree.machine.parts());
    let mut all = parts.l3_caches.clone();
    all.extend(machine.memory_domains().into_iter().map(|(_, cpus)| cpus));
    let packages = parts.packages.iter();
    all.extend(packages.map(|package| {
        let cores = package.cores.iter();
        cores.flat_map(|core| core.pus.iter().copied()).collect()
    }));
    all.push(machine.cpus().clone());
    all.retain(|cpus| !cpus.is_empty());
    all
}

fn apart(case: &Case) -> Verdict {
    if case.request.tasks as usize > case.owned.count() {
        return Verdict::Aside;
    }
    let answer = match case.answer() {
        Ok(answer) => answer,
        Err(why) => return Verdict::Broken(format!("refused: {why}")),
    };
    let mut seen = CpuSet::new();
    for mask in &answer.masks {
        if mask.is_empty() || !mask.is_subset(&case.owned.cpus) || mask.intersects(&seen) {
            return Verdict::Broken(format!("{mask} of {}", case.owned.cpus));
        }
        seen.insert_all(mask);
    }
    Verdict::Holds
}

fn nearest(case: &Case) -> Verdict {
    let (request, [gpu]) = (&case.request, &case.request.gpus[..]) else {
        return Verdict::Aside;
    };
    if request.tasks as usize > case.owned.count() {
        return Verdict::Aside;
    }
    let around = objects(case.tree);
    let around = around.into_iter().filter(|object| gpu.is_subset(object));
    let around: BTreeSet<_> = around.map(|object| (object.count(), object)).collect();
    let counts: BTreeSet<_> = around.iter().map(|(count, _)| *count).collect();
    if counts.len() < around.len() {
        // Neither of two objects of one size is the nearer one.
        return Verdict::Aside;
    }
    let mut reached = CpuSet::new();
    let own = around.iter().map(|(_, object)| {
        reached.insert_all(object);
        // A core is where its first hardware thread is.
        let inside = |pus: &[berth_placement::CpuId]| reached.contains(pus[0]);
        let cores = case.owned.cores.iter().filter(|core| inside(&core.pus));
        cores.flat_map(|core| core.cpus.iter()).collect::<CpuSet>()
    });
    let mut enough = own.filter(|own| own.count() >= request.tasks as usize);
    let expected = enough.next();
    let answer = case.answer().map(|answer| {
        let mut all = CpuSet::new();
        answer.masks.iter().for_each(|mask| all.insert_all(mask));
        all
    });
    Verdict::when(answer.as_ref().ok() == expected.as_ref(), || {
        format!("{expected:?} is the nearest with room, and tasks have {answer:?}")
    })
}
