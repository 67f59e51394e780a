//! `--explain` proposes only what was tried: for many requests, each proposed option is added, planned
//! again, and the new plan must differ in the way that was said. The effects are judged here from the
//! JSON of both plans, not by the command's own code. `BERTH_SEED` repeats a run.

use crate::random::{Random, seed};
use crate::run::berth;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

const MACHINES: [&str; 5] = [
    "pack:2 core:4 pu:2",
    "pack:4 core:2 pu:1",
    "pack:1 core:6 pu:4",
    "pack:2 l3:2 core:3 pu:2",
    "pack:2 core:8 pu:1",
];
const BINDS: [&str; 9] = [
    "",
    "",
    "--cpu-bind=cores",
    "--cpu-bind=threads",
    "--cpu-bind=sockets",
    "--cpu-bind=none",
    "--cpu-bind=map_cpu:0,1",
    "--hint=nomultithread",
    "--binding=linear:3",
];
const ORDERS: [&str; 6] = [
    "",
    "-m block:block",
    "-m cyclic:cyclic",
    "-m block:fcyclic",
    "-m cyclic:block",
    "-m plane=2",
];
const REQUESTS: usize = 400;

fn request(random: &mut Random) -> String {
    let machine = random.one_of(&MACHINES);
    let nodes = 1 + random.below(3) / 2;
    let tasks = nodes + random.below(12);
    let each = 1 + random.below(4) / 2 * random.below(4);
    let more = if random.below(5) == 0 { "-O" } else { "" };
    let cores = if random.below(3) == 0 {
        "--cores 0-2,5"
    } else {
        "--cores=all"
    };
    let (bind, order) = (random.one_of(&BINDS), random.one_of(&ORDERS));
    format!("--machine '{machine}' {cores} -N {nodes} -n {tasks} -c {each} {bind} {order} {more}")
}

/// The documents of many requests; `None` where the step would not run.
fn plans(requests: &[String]) -> Vec<Option<Value>> {
    let words = ["plan", "--format=json", "--explain", "--batch=-"];
    let text = berth(&words, &(requests.join("\n") + "\n")).stdout;
    let plans: Vec<_> = text
        .lines()
        .map(|line| serde_json::from_str(line).ok())
        .collect();
    assert_eq!(plans.len(), requests.len());
    plans
}

fn numbers(list: &Value) -> BTreeSet<u64> {
    let parts = list
        .as_str()
        .unwrap_or_default()
        .split(',')
        .filter(|part| !part.is_empty());
    parts
        .flat_map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            first.parse::<u64>().unwrap()..=last.parse().unwrap()
        })
        .collect()
}

/// Each node's tasks, by local number, with one of their lists.
fn by_node(plan: &Value, list: &str) -> Vec<Vec<BTreeSet<u64>>> {
    let mut nodes: BTreeMap<u64, BTreeMap<u64, BTreeSet<u64>>> = BTreeMap::new();
    for task in plan["tasks"].as_array().unwrap() {
        let tasks = nodes.entry(task["node"].as_u64().unwrap()).or_default();
        tasks.insert(task["local"].as_u64().unwrap(), numbers(&task[list]));
    }
    nodes
        .into_values()
        .map(|tasks| tasks.into_values().collect())
        .collect()
}

fn neighbours(plan: &Value) -> usize {
    let nodes = by_node(plan, "sockets");
    let of_node = |tasks: &Vec<BTreeSet<u64>>| {
        let pairs = tasks.windows(2);
        pairs.filter(|pair| !pair[0].is_disjoint(&pair[1])).count()
    };
    nodes.iter().map(of_node).sum()
}

fn is_disjoint(plan: &Value) -> bool {
    plan["bound"] == true
        && by_node(plan, "cpus").iter().all(|tasks| {
            let mut seen = BTreeSet::new();
            tasks.iter().flatten().all(|cpu| seen.insert(*cpu))
        })
}

/// The threads that each task has, for each core that it touches: synthetic machines number in blocks.
fn per_core(plan: &Value) -> Vec<usize> {
    let threads = plan["machine"]["threads_per_core"].as_u64().unwrap();
    let tasks = by_node(plan, "cpus").into_iter().flatten();
    tasks
        .flat_map(|cpus| {
            let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
            cpus.iter()
                .for_each(|cpu| *counts.entry(cpu / threads).or_default() += 1);
            counts.into_values()
        })
        .collect()
}

fn differs(effect: &str, now: &Value, then: &Value) -> bool {
    let threads = now["machine"]["threads_per_core"].as_u64().unwrap() as usize;
    let turns = |holds: &dyn Fn(&Value) -> bool| {
        then["bound"] == true && !(now["bound"] == true && holds(now)) && holds(then)
    };
    let has_level = |plan: &Value| {
        let rules = plan["rules"].as_object().unwrap().values();
        let levels = ["cores", "threads", "sockets", "ldoms"];
        let is_level = |rule: &Value| {
            levels
                .iter()
                .any(|level| rule.as_str().unwrap().contains(&format!("{level}:")))
        };
        rules.clone().all(is_level)
    };
    match effect {
        "close-neighbours" => neighbours(then) > neighbours(now),
        "spread-neighbours" => neighbours(then) < neighbours(now),
        "one-thread" => turns(&|plan| per_core(plan).iter().all(|count| *count == 1)),
        "whole-cores" => turns(&|plan| per_core(plan).iter().all(|count| *count == threads)),
        "as-requested" => turns(&|plan| {
            let each: BTreeSet<_> = plan["cpus_per_task"]
                .as_object()
                .unwrap()
                .values()
                .map(|each| each.as_u64().unwrap() as usize)
                .collect();
            let tasks = by_node(plan, "cpus");
            tasks
                .iter()
                .flatten()
                .all(|cpus| each.contains(&cpus.len()))
        }),
        "own-cpus" => !is_disjoint(now) && is_disjoint(then),
        "level" => !has_level(now) && has_level(then),
        "served" => {
            let rules = then["rules"].as_object().unwrap().values();
            rules
                .clone()
                .all(|rule| rule.as_str().unwrap().starts_with("binding:"))
        }
        other => panic!("the effect {other} is not known here"),
    }
}

#[test]
fn the_order_over_the_nodes_is_kept() {
    let common = "--machine 'pack:2 core:4 pu:1' --cores=all -N2 -n4 --cpu-bind=cores";
    for (order, other) in [
        ("block:block", "block:cyclic"),
        ("block:cyclic", "block:block"),
        ("cyclic:block", "cyclic:cyclic"),
        ("cyclic:cyclic", "cyclic:block"),
    ] {
        let plans = plans(&[format!("{common} -m {order}")]);
        let changes = plans[0].as_ref().unwrap()["changes"].to_string();
        assert!(
            changes.contains(&format!("-m {other}")),
            "{order}: {changes}"
        );
    }
}

#[test]
fn every_change_does_what_it_says() {
    let seed = seed();
    let mut random = Random(seed);
    let requests: Vec<_> = (0..REQUESTS).map(|_| request(&mut random)).collect();
    let now = plans(&requests);
    let mut changed = Vec::new();
    for (request, plan) in requests.iter().zip(&now) {
        let changes = plan.as_ref().and_then(|plan| plan["changes"].as_array());
        for change in changes.into_iter().flatten() {
            let options = change["options"].as_str().unwrap();
            let effect = change["effect"].as_str().unwrap().to_string();
            changed.push((
                format!("{request} {options}"),
                effect,
                plan.as_ref().unwrap(),
            ));
        }
    }
    let lines: Vec<_> = changed.iter().map(|(line, ..)| line.clone()).collect();
    let mut seen = BTreeSet::new();
    for ((line, effect, now), then) in changed.iter().zip(plans(&lines)) {
        let then = then.unwrap_or_else(|| panic!("BERTH_SEED={seed}: refused: {line}"));
        assert!(
            differs(effect, now, &then),
            "BERTH_SEED={seed}: {effect}: {line}"
        );
        seen.insert(effect.clone());
    }
    assert!(
        seen.len() >= 7 && lines.len() > REQUESTS / 2,
        "{} of {seen:?}",
        lines.len()
    );
}

/// Whole cores are no proposal for whom one thread of each is enough.
#[test]
fn no_change_takes_a_wish_away() {
    let line = |wish: &str| {
        format!("--machine 'pack:2 core:8 pu:2' --cores all -n 4 -c 4 -m block:block {wish}")
    };
    let lines = [
        line("--hint=nomultithread"),
        line("--threads-per-core=1"),
        line("--cpu-bind=threads"),
    ];
    let proposed = plans(&lines).into_iter().map(|plan| {
        let changes = plan.unwrap()["changes"].to_string();
        changes.contains("--cpu-bind=cores")
    });
    assert_eq!(proposed.collect::<Vec<_>>(), [false, false, false]);
}
