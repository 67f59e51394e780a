//! `--mem-bind`: every task has memory nodes that are there, and memory never moves a task.

use berth_placement::{CpuId, CpuSet, MemBind, NodeSet};
use berth_srun::{Release, spelling};

use crate::harness::ask::Ask;
use crate::harness::random::Random;
use crate::harness::requests::perhaps_at_a_level;
use crate::harness::tree::Tree;
use crate::harness::trial::{Case, Verdict, broken, holds};

pub fn requested(random: &mut Random, tree: &Tree) -> Ask {
    let mut ask = perhaps_at_a_level(random, tree);
    let count = random.within(1, 4);
    let nodes = tree.machine.parts().numa_nodes.iter().map(|node| node.id.0);
    let nodes: Vec<_> = nodes.chain([0]).collect();
    let node = |random: &mut Random| match random.once_in(8) {
        true => random.within(0, 9),
        false => random.pick(&nodes),
    };
    let listed = |random: &mut Random, entry: fn(u32) -> String| {
        let entries = (0..count).map(|_| entry(node(random)));
        entries.collect::<Vec<_>>().join(",")
    };
    let policy = match random.within(0, 3) {
        0 => "local".into(),
        1 => "rank".into(),
        2 => format!("map_mem:{}", listed(random, |node| node.to_string())),
        _ => format!(
            "mask_mem:{}",
            listed(random, |node| {
                let mask: CpuSet = std::iter::once(CpuId(node)).collect();
                mask.to_short_hex()
            })
        ),
    };
    let prefer = random.pick(&["", "prefer,"]);
    let read = spelling::mem_bind(&format!("{prefer}{policy}"), Release::V22_05);
    ask.request.mem_bind = read.expect("a --mem-bind");
    ask.request.overcommit = true;
    ask
}

pub fn nodes_are_there(case: &Case) -> Verdict {
    let plan = case.answer().ok()?.plan;
    let there = case.tree.machine.numa_nodes();
    let masks = plan.memory_masks()?;
    let masks = masks.split(',').map(NodeSet::from_hex);
    let masks: Result<Vec<_>, _> = masks.collect();
    let tasks: Option<Vec<_>> = plan.tasks.iter().map(|task| task.mems.clone()).collect();
    if masks.ok() != tasks || plan.tasks.len() != case.tasks() {
        return broken("the masks are not those of the tasks");
    }
    let prefer = case.ask.request.mem_bind.prefer;
    for (task, mems) in plan.tasks.iter().zip(tasks?) {
        let is_one = !prefer || mems.iter().count() == 1;
        let is_there = !mems.is_empty() && mems.difference(&there).is_empty();
        if !is_there || !is_one || task.prefer != prefer {
            return broken(format!("memory of {mems}"));
        }
    }
    let mut plain = case.ask.clone();
    plain.request.mem_bind = MemBind::default();
    let plain = case.answer_to(&plain).map(|answer| answer.plan.message);
    holds(plain.as_ref() == Ok(&plan.message), || {
        "memory moves a task".into()
    })
}
