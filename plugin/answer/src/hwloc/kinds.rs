//! Kinds of cores, slowest first. hwloc ranks them when it reads a file, and so does this.
//! Source: `hwloc_internal_cpukinds_rank`.

use berth_placement::sets::limits::MAX_INFOS;
use berth_placement::{CoreKind, Parts};
use roxmltree::Node;

use super::NoMachine;
use super::devices::clean;
use super::parts;
use super::xml::set;

/// The kinds of a file, with CPUs of the machine.
pub(super) fn kinds(topology: Node<'_, '_>, parts: &Parts) -> Result<Vec<CoreKind>, NoMachine> {
    let known = parts::cpus(parts);
    let mut found = Vec::new();
    let mut forced = Vec::new();
    for node in topology
        .children()
        .filter(|node| node.tag_name().name() == "cpukind")
    {
        let cpus = set(node, "cpuset")?
            .unwrap_or_default()
            .intersection(&known);
        if cpus.is_empty() {
            continue;
        }
        let value = node.attribute("forced_efficiency");
        forced.push(value.and_then(|value| value.parse::<u64>().ok()));
        found.push(CoreKind {
            cpus,
            rank: None,
            infos: infos(node),
        });
    }
    Ok(ranked(found, &forced))
}

fn infos(node: Node<'_, '_>) -> Vec<(String, String)> {
    let infos = node
        .children()
        .filter(|node| node.tag_name().name() == "info");
    let pair = |info: Node<'_, '_>| {
        let value = |name| clean(info.attribute(name).unwrap_or_default());
        (value("name"), value("value"))
    };
    infos.take(MAX_INFOS).map(pair).collect()
}

/// In the order of what is known of all of them; unranked where two would be equal.
fn ranked(kinds: Vec<CoreKind>, forced: &[Option<u64>]) -> Vec<CoreKind> {
    let by_forced: Option<Vec<u64>> = forced.iter().copied().collect();
    let is_distinct = |values: &Vec<u64>| {
        let mut sorted = values.clone();
        sorted.sort_unstable();
        sorted.windows(2).all(|pair| pair.first() != pair.last())
    };
    let values = by_forced.filter(is_distinct);
    let values = values.or_else(|| Some(by_infos(&kinds)?).filter(is_distinct));
    let Some(values) = values else {
        return kinds;
    };
    let mut all: Vec<_> = values.into_iter().zip(kinds).collect();
    all.sort_by_key(|(value, _)| *value);
    let rank = |(rank, (_, kind)): (u32, (u64, CoreKind))| CoreKind {
        rank: Some(rank),
        ..kind
    };
    (0..).zip(all).map(rank).collect()
}

/// Intel's type of core, then the highest frequency, or else the base frequency.
fn by_infos(kinds: &[CoreKind]) -> Option<Vec<u64>> {
    let number = |kind: &CoreKind, name| kind.info(name)?.parse::<u64>().ok();
    let core_type = |kind: &CoreKind| match kind.info("CoreType") {
        Some("IntelAtom") => Some(1),
        Some("IntelCore") => Some(2),
        _ => None,
    };
    let all = |value: &dyn Fn(&CoreKind) -> Option<u64>| -> Option<Vec<u64>> {
        kinds.iter().map(value).collect()
    };
    let types = all(&core_type);
    let frequencies = all(&|kind| number(kind, "FrequencyMaxMHz"))
        .or_else(|| all(&|kind| number(kind, "FrequencyBaseMHz")));
    match (types, frequencies) {
        (None, None) if kinds.len() == 1 => Some(vec![0]),
        (None, None) => None,
        (types, frequencies) => {
            let zeros = || vec![0; kinds.len()];
            let types = types.unwrap_or_else(zeros);
            let frequencies = frequencies.unwrap_or_else(zeros);
            let both = types.into_iter().zip(frequencies);
            Some(
                both.map(|(core, frequency)| (core << 20) + frequency)
                    .collect(),
            )
        }
    }
}
