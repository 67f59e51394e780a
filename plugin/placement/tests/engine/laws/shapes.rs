//! Masks have the shape of their level, and the launch message says them.

use berth_placement::{CpuSet, Level};

use crate::harness::ask::Ask;
use crate::harness::random::Random;
use crate::harness::requests::{plain, without_binding};
use crate::harness::tree::Tree;
use crate::harness::trial::{Case, Verdict, broken, holds};

pub fn of_objects(random: &mut Random, tree: &Tree) -> Ask {
    let levels = [Level::Cores, Level::Cores, Level::Sockets, Level::Ldoms];
    let plain = plain(random, tree, &levels.map(Some));
    let mut ask = without_binding(random, tree);
    ask.request.allocation = plain.request.allocation;
    ask.request.cpu_bind.level = plain.request.cpu_bind.level;
    ask
}

/// Cores, sockets and NUMA nodes come with all their CPUs that the step owns.
pub fn whole_objects(case: &Case) -> Verdict {
    let answer = case.answer().ok()?;
    let own = &case.owned;
    let objects: Vec<CpuSet> = match case.ask.request.cpu_bind.level {
        Some(Level::Sockets) => own.sockets(),
        Some(Level::Ldoms) => {
            let classes = case.tree.memory_classes().into_iter();
            classes.map(|cpus| cpus.intersection(&own.cpus)).collect()
        }
        _ => own.cores.iter().map(|core| core.cpus.clone()).collect(),
    };
    for mask in &answer.masks {
        let is_cut = |object: &&CpuSet| mask.intersects(object) && !object.is_subset(mask);
        if let Some(object) = objects.iter().find(is_cut) {
            return broken(format!("{mask} has a part of {object}"));
        }
    }
    Some(Ok(()))
}

pub fn text_says_it(case: &Case) -> Verdict {
    let answer = case.answer().ok()?;
    let Some(text) = answer.plan.text() else {
        return holds(!answer.plan.is_bound(), || "it has no text".into());
    };
    let read = |mask: &str| CpuSet::from_hex(mask).expect("a mask");
    let masks: Vec<CpuSet> = text.split(',').map(read).collect();
    let mut both = answer.masks.iter().zip(masks.iter().cycle());
    holds(both.all(|(task, mask)| task == mask), || {
        format!("the text is {text}")
    })
}
