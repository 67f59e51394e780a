//! Masks have the shape of their level, and the launch message says them.

use berth_placement::CpuSet;

use super::super::asking::{any, plain};
use super::super::door::{Ask, Level};
use super::super::facts::Tree;
use super::super::harness::{Case, Law, Verdict};
use super::super::random::Random;

pub const WHOLE_OBJECTS: Law = Law {
    name: "cores, sockets and NUMA nodes come with all their CPUs that the step owns",
    request: of_objects,
    holds: whole_objects,
};

pub const TEXT_SAYS_IT: Law = Law {
    name: "the text in the launch message means the plan",
    request: any,
    holds: text_says_it,
};

fn of_objects(random: &mut Random, tree: &Tree) -> Ask {
    let level = random.pick(&[Level::Cores, Level::Cores, Level::Sockets, Level::Ldoms]);
    let limits = any(random, tree);
    let plain = plain(random, tree, &[Some(level)]);
    Ask {
        binding: None,
        own: plain.own,
        level: plain.level,
        ..limits
    }
}

fn whole_objects(case: &Case) -> Verdict {
    let Ok(answer) = case.answer() else {
        return Verdict::Aside;
    };
    let objects: Vec<CpuSet> = match case.request.level {
        Some(Level::Sockets) => case.owned.sockets(),
        Some(Level::Ldoms) => {
            let classes = case.tree.memory_classes().into_iter();
            classes
                .map(|cpus| cpus.intersection(&case.owned.cpus))
                .collect()
        }
        _ => case
            .owned
            .cores
            .iter()
            .map(|core| core.cpus.clone())
            .collect(),
    };
    for mask in &answer.masks {
        let broken = |object: &&CpuSet| mask.intersects(object) && !object.is_subset(mask);
        if let Some(object) = objects.iter().find(broken) {
            return Verdict::Broken(format!("{mask} has a part of {object}"));
        }
    }
    Verdict::Holds
}

fn text_says_it(case: &Case) -> Verdict {
    let Ok(answer) = case.answer() else {
        return Verdict::Aside;
    };
    let Some(text) = &answer.text else {
        return Verdict::Aside;
    };
    let read = |mask: &str| CpuSet::from_hex(mask).expect("a mask");
    let masks: Vec<CpuSet> = text.split(',').map(read).collect();
    let same = answer
        .masks
        .iter()
        .zip(masks.iter().cycle())
        .all(|(task, mask)| task == mask);
    Verdict::when(same, || format!("the text is {text}"))
}
