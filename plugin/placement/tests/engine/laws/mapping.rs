//! `--map-by`, `--rank-by` and `--bind-to`, written from what the options mean.

use berth_placement::request::mapping::MappingTexts;
use berth_placement::{CpuSet, Mapping, Note, ObjectKind};

use crate::harness::ask::Ask;
use crate::harness::random::Random;
use crate::harness::requests::plain;
use crate::harness::tree::Tree;
use crate::harness::trial::{Case, Verdict, broken, holds};

const LEVELS: [(&str, ObjectKind); 7] = [
    ("package", ObjectKind::Package),
    ("numa", ObjectKind::Numa),
    ("l3cache", ObjectKind::L3),
    ("l2cache", ObjectKind::L2),
    ("l1cache", ObjectKind::L1),
    ("core", ObjectKind::Core),
    ("hwthread", ObjectKind::Pu),
];

/// A request with these options; with none of them where they contradict each other.
fn mapped(
    random: &mut Random,
    tree: &Tree,
    map: &str,
    rank: Option<&str>,
    bind: Option<&str>,
) -> Ask {
    let mut ask = plain(random, tree, &[None]);
    let map = Some(map);
    ask.request.cpus_per_task = 1;
    ask.request.mapping = Mapping::read(MappingTexts { map, rank, bind })
        .ok()
        .flatten();
    ask
}

pub fn bound(random: &mut Random, tree: &Tree) -> Ask {
    let (map, bind) = (random.pick(&LEVELS).0, random.pick(&LEVELS).0);
    let threads = random.pick(&["", ":hwtcpus"]);
    let rank = random.pick(&["slot", "fill", "span"]);
    mapped(
        random,
        tree,
        &format!("{map}{threads}"),
        Some(rank),
        Some(bind),
    )
}

/// Tasks keep to one object of each level that they name, and no object has more tasks than CPUs.
pub fn inside_objects(case: &Case) -> Verdict {
    let mapping = case.ask.request.mapping.as_ref()?.to_string();
    let answer = case.answer().ok()?;
    let machine = &case.tree.machine;
    let named = LEVELS.iter().filter(|(word, _)| {
        let option = |name: &str| mapping.contains(&format!("--{name}={word}"));
        option("map-by") || option("bind-to")
    });
    let named: Vec<_> = named.map(|(_, kind)| machine.objects(*kind)).collect();
    for mask in &answer.masks {
        let inside = |objects: &Vec<CpuSet>| objects.iter().any(|object| mask.is_subset(object));
        let own = !mask.is_empty() && mask.is_subset(&case.owned.cpus);
        if !own || !named.iter().all(inside) {
            return broken(format!("{mask}"));
        }
    }
    // Each task uses up one CPU.
    let has_room = |object: &CpuSet| {
        let here = answer.masks.iter().filter(|mask| mask.is_subset(object));
        here.count() <= object.intersection(&case.owned.cpus).count()
    };
    let packages = machine.objects(ObjectKind::Package);
    holds(packages.iter().all(has_room), || {
        "a package has more tasks than CPUs".into()
    })
}

pub fn of_several_cpus(random: &mut Random, tree: &Tree) -> Ask {
    let target = random.pick(&["slot", "package", "numa", "l3cache", "ppr:2:package"]);
    let (each, threads) = (random.within(1, 3), random.pick(&["", ":hwtcpus"]));
    let map = format!("{target}:pe={each}{threads}");
    let mut ask = mapped(random, tree, &map, None, None);
    ask.request.tasks = random.within(1, 6);
    ask
}

/// Several CPUs of a task are its own.
pub fn are_its_own(case: &Case) -> Verdict {
    case.ask.request.mapping.as_ref()?;
    let answer = case.answer().ok()?;
    let mut notes = answer.plan.notes.iter();
    if !answer.plan.is_bound() || notes.any(|note| matches!(note, Note::Mapping { .. })) {
        return None;
    }
    let again = super::room::shared(&answer.masks);
    holds(again.is_none(), || format!("CPU {again:?} twice"))
}

pub fn to_threads(random: &mut Random, tree: &Tree) -> Ask {
    let map = random.pick(&LEVELS).0;
    let mut ask = mapped(random, tree, map, None, Some("hwthread"));
    ask.request.tasks = random.within(1, 8);
    ask
}

/// Ranking only changes the order.
pub fn ranked(case: &Case) -> Verdict {
    let mapping = case.ask.request.mapping.as_ref()?;
    let masks = |rank: &str| {
        let mut ask = case.ask.clone();
        let rank = rank.parse().ok();
        ask.request.mapping = Mapping::of(mapping.map.clone(), rank, mapping.bind.clone()).ok()?;
        let mut masks = case.answer_to(&ask).ok()?.masks;
        masks.sort();
        Some(masks)
    };
    let slot = masks("slot")?;
    let ranks = ["fill", "span", "node"];
    holds(
        ranks
            .into_iter()
            .all(|rank| masks(rank).as_ref() == Some(&slot)),
        || format!("by slot {slot:?}"),
    )
}
