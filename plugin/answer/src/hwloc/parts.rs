//! The parts of a machine from its objects, the distances between its NUMA nodes, and its kinds of cores, slowest first.
//! Order is hwloc's logical order, which slurmd follows. hwloc ranks kinds when it reads a file, and so does this.
//! Source: `hwloc_internal_cpukinds_rank`.

use berth_placement::sets::limits::MAX_INFOS;
use berth_placement::topology::assembly::{self, PlacedNode, PlacedPu, distances};
use berth_placement::{CoreKind, CpuId, NumaId, NumaNode, Package, Parts};
use roxmltree::Node;

use super::NoMachine;
use super::devices::clean;
use super::xml::{Object, children, set};

/// In: the machine with all objects.
pub(super) fn of(whole: &Object<'_>) -> Result<Parts, NoMachine> {
    let slurmds = &whole.slurmds();
    let allowed = whole.element.map(|element| set(element, "allowed_cpuset"));
    let mut whole_order = Vec::new();
    whole.each("PU", |pu, _| whole_order.push(CpuId(pu.number)));
    let whole = Parts {
        dies: whole.sets("Die"),
        l2_caches: whole.sets("L2Cache"),
        l1_caches: whole.sets("L1Cache"),
        whole_order,
        ..Parts::default()
    };
    let mut parts = Parts {
        packages: packages(slurmds),
        numa_nodes: numa_nodes(slurmds),
        l3_caches: slurmds.sets("L3Cache"),
        ..Parts::default()
    };
    let all = || parts.pus().collect();
    parts.allowed = allowed.transpose()?.flatten().unwrap_or_else(all);
    Ok(parts.with_whole(whole))
}

fn packages(machine: &Object<'_>) -> Vec<Package> {
    let mut pus = Vec::new();
    machine.each("PU", |pu, above| {
        let nearest = |kind| above.iter().rev().find(|object| object.kind == kind);
        let number = |kind| nearest(kind).map(|object| object.id as u64);
        pus.push(PlacedPu {
            cpu: CpuId(pu.number),
            core: number("Core"),
            package: number("Package"),
        });
    });
    assembly::packages(pus)
}

fn numa_nodes(machine: &Object<'_>) -> Vec<NumaNode> {
    let mut found = Vec::new();
    machine.each("NUMANode", |object, above| {
        found.push(PlacedNode {
            node: NumaNode {
                id: NumaId(object.number),
                cpus: object.cpus.clone(),
            },
            is_under_machine: above.last().is_some_and(|above| above.kind == "Machine"),
        });
    });
    assembly::numa_nodes(found)
}

/// hwloc's bit of a matrix that means latency (`HWLOC_DISTANCES_KIND_MEANS_LATENCY`).
const MEANS_LATENCY: u32 = 4;

/// A row of distances for each node, 0 for one that is missing; nothing where the file has no matrix of them.
pub(super) fn of_numa<'a>(topology: Node<'a, 'a>, nodes: &[NumaNode]) -> Vec<Vec<u32>> {
    let is_it = |node: &Node<'_, '_>| {
        let kind = node.attribute("kind");
        let kind = kind.and_then(|kind| kind.parse::<u32>().ok());
        node.attribute("type") == Some("NUMANode")
            && node.attribute("indexing") == Some("os")
            && kind.is_some_and(|kind| kind & MEANS_LATENCY != 0)
    };
    let Some(matrix) = children(topology, "distances2").find(is_it) else {
        return Vec::new();
    };
    let ids: Vec<_> = numbers(matrix, "indexes").into_iter().map(Some).collect();
    distances(nodes, &ids, &numbers(matrix, "u64values"))
}

/// The numbers of all elements of this name; hwloc writes some in each.
fn numbers<'a>(matrix: Node<'a, 'a>, name: &str) -> Vec<u64> {
    let words =
        children(matrix, name).flat_map(|node| node.text().unwrap_or_default().split_whitespace());
    words.filter_map(|word| word.parse().ok()).collect()
}

/// The kinds of a file, with CPUs of the machine.
pub(super) fn kinds<'a>(topology: Node<'a, 'a>, parts: &Parts) -> Result<Vec<CoreKind>, NoMachine> {
    let known = parts.pus().collect();
    let mut found = Vec::new();
    let mut forced = Vec::new();
    for node in children(topology, "cpukind") {
        let cpus = set(node, "cpuset")?.unwrap_or_default();
        let cpus = cpus.intersection(&known);
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

fn infos<'a>(node: Node<'a, 'a>) -> Vec<(String, String)> {
    let pair = |info: Node<'_, '_>| {
        let value = |name| clean(info.attribute(name).unwrap_or_default());
        (value("name"), value("value"))
    };
    let infos = children(node, "info");
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
