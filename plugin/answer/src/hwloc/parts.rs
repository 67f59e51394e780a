//! The parts of a machine from its objects. Order is hwloc's logical order, which slurmd follows.
//!
//! How far NUMA nodes are from each other.
//!
//! Kinds of cores, slowest first. hwloc ranks them when it reads a file, and so does this.
//! Source: `hwloc_internal_cpukinds_rank`.

use std::collections::HashMap;

use berth_placement::sets::limits::MAX_INFOS;
use berth_placement::{Core, CoreKind, CpuId, CpuSet, NumaId, NumaNode, Package, Parts};
use roxmltree::Node;

use super::devices::clean;
use super::object::Object;
use super::xml::{children, set};
use super::{NoMachine, parts};

/// Cores under construction, each with the object's identity.
type Cores = Vec<(Option<usize>, Core)>;

/// In: the machine through slurmd's filters, and with all objects.
pub(super) fn of(slurmds: &Object<'_>, whole: &Object<'_>) -> Result<Parts, NoMachine> {
    let allowed = slurmds
        .element
        .map(|element| set(element, "allowed_cpuset"));
    let packages = packages(slurmds);
    let cores = packages.iter().flat_map(|package| &package.cores);
    let order: Vec<CpuId> = cores.flat_map(|core| core.pus.iter().copied()).collect();
    let known: CpuSet = order.iter().copied().collect();
    let of = |kind| {
        let cut = whole
            .sets(kind)
            .into_iter()
            .map(|set| set.intersection(&known));
        cut.filter(|set| !set.is_empty()).collect()
    };
    let mut whole_order = Vec::new();
    whole.each("PU", |pu, _| whole_order.push(CpuId(pu.number)));
    if whole_order == order {
        whole_order.clear();
    }
    Ok(Parts {
        packages,
        numa_nodes: numa_nodes(slurmds),
        l3_caches: slurmds.sets("L3Cache"),
        allowed: allowed.transpose()?.flatten().unwrap_or(known.clone()),
        dies: of("Die"),
        l2_caches: of("L2Cache"),
        l1_caches: of("L1Cache"),
        whole_order,
        ..Parts::default()
    })
}

/// Hardware threads come in topology order, so their cores and packages do too.
fn packages(machine: &Object<'_>) -> Vec<Package> {
    let mut inside: Vec<(usize, Cores)> = Vec::new();
    let mut outside = Cores::new();
    machine.each("PU", |pu, above| {
        let nearest = |kind| above.iter().rev().find(|object| object.kind == kind);
        let core = nearest("Core").map(|core| core.id);
        let cpu = CpuId(pu.number);
        match nearest("Package").map(|package| package.id) {
            None => add(&mut outside, core, cpu),
            Some(package) => match inside.last_mut() {
                Some((last, cores)) if *last == package => add(cores, core, cpu),
                _ => {
                    let mut cores = Cores::new();
                    add(&mut cores, core, cpu);
                    inside.push((package, cores));
                }
            },
        }
    });
    let mut packages: Vec<_> = inside
        .into_iter()
        .map(|(_, cores)| package(cores))
        .collect();
    if !outside.is_empty() {
        packages.push(package(outside));
    }
    packages
}

/// A hardware thread in no core is a core of its own.
fn add(cores: &mut Cores, core: Option<usize>, cpu: CpuId) {
    match cores.last_mut() {
        Some((last, found)) if core.is_some() && *last == core => found.pus.push(cpu),
        _ => cores.push((core, Core { pus: vec![cpu] })),
    }
}

fn package(cores: Cores) -> Package {
    Package {
        cores: cores.into_iter().map(|(_, core)| core).collect(),
    }
}

/// NUMA nodes in the kernel's order. A node that has only memory, and whose place is unknown, hangs under the machine with
/// every CPU; it has none of its own.
fn numa_nodes(machine: &Object<'_>) -> Vec<NumaNode> {
    let mut found = Vec::new();
    machine.each("NUMANode", |object, above| {
        let is_under_machine = above.last().is_some_and(|above| above.kind == "Machine");
        found.push((object, is_under_machine));
    });
    let some_below = found.iter().any(|(_, is_under_machine)| !is_under_machine);
    let node = |(object, is_under_machine): (&Object<'_>, bool)| NumaNode {
        id: NumaId(object.number),
        cpus: match some_below && is_under_machine {
            true => CpuSet::new(),
            false => object.cpus.clone(),
        },
    };
    let mut nodes: Vec<_> = found.into_iter().map(node).collect();
    nodes.sort_by_key(|node| node.id);
    nodes
}

/// All CPUs.
pub(super) fn cpus(parts: &Parts) -> CpuSet {
    let cores = parts.packages.iter().flat_map(|package| &package.cores);
    cores.flat_map(|core| core.pus.iter().copied()).collect()
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
    let ids = numbers(matrix, "indexes");
    let values = numbers(matrix, "u64values");
    let at: HashMap<u64, usize> = ids.iter().enumerate().map(|(at, id)| (*id, at)).collect();
    let entry = |one: &NumaNode, other: &NumaNode| {
        let place = |node: &NumaNode| at.get(&node.id.0.into());
        let found = values.get(place(one)? * ids.len() + place(other)?);
        found.map(|distance| u32::try_from(*distance).unwrap_or(u32::MAX - 1))
    };
    let row = |one| {
        nodes
            .iter()
            .map(|other| entry(one, other).unwrap_or(0))
            .collect()
    };
    nodes.iter().map(row).collect()
}

/// The numbers of all elements of this name; hwloc writes some in each.
fn numbers<'a>(matrix: Node<'a, 'a>, name: &str) -> Vec<u64> {
    let words =
        children(matrix, name).flat_map(|node| node.text().unwrap_or_default().split_whitespace());
    words.filter_map(|word| word.parse().ok()).collect()
}

/// The kinds of a file, with CPUs of the machine.
pub(super) fn kinds<'a>(topology: Node<'a, 'a>, parts: &Parts) -> Result<Vec<CoreKind>, NoMachine> {
    let known = parts::cpus(parts);
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
