//! The parts of a machine from a tree of objects. Order is hwloc's logical order, which slurmd follows.

use berth_placement::{Core, CpuId, CpuSet, NumaId, NumaNode, Package, Parts};

use super::XmlError;
use super::object::{Object, Tree, os_number, set};

/// A core under construction, with its element.
type Cores<'a> = Vec<(Option<roxmltree::NodeId>, Core)>;

/// The parts that slurmd's own filters leave.
pub(super) fn slurmds(tree: &Tree<'_>) -> Result<Parts, XmlError> {
    let machine = &tree.machine;
    let allowed = set(machine.node, "allowed_cpuset")?;
    Ok(Parts {
        packages: packages(tree)?,
        numa_nodes: numa_nodes(tree)?,
        l3_caches: tree.sets("L3Cache"),
        allowed: allowed.unwrap_or_else(|| machine.cpus.clone()),
        ..Parts::default()
    })
}

/// Hardware threads come in topology order, so their cores and packages do too.
fn packages(tree: &Tree<'_>) -> Result<Vec<Package>, XmlError> {
    let mut inside: Vec<(roxmltree::NodeId, Cores<'_>)> = Vec::new();
    let mut outside = Vec::new();
    let mut failed = None;
    tree.each("PU", |pu, above| {
        let cpu = match os_number(pu.node) {
            Ok(number) => CpuId(number),
            Err(why) => {
                failed.get_or_insert(why);
                return;
            }
        };
        let core = nearest(above, "Core");
        match nearest(above, "Package") {
            None => add(&mut outside, core, cpu),
            Some(package) => match inside.last_mut() {
                Some((last, cores)) if *last == package => add(cores, core, cpu),
                _ => {
                    let mut cores = Vec::new();
                    add(&mut cores, core, cpu);
                    inside.push((package, cores));
                }
            },
        }
    });
    if let Some(why) = failed {
        return Err(why);
    }
    let mut packages: Vec<_> = inside
        .into_iter()
        .map(|(_, cores)| package(cores))
        .collect();
    if !outside.is_empty() {
        packages.push(package(outside));
    }
    Ok(packages)
}

fn nearest(above: &[&Object<'_>], kind: &str) -> Option<roxmltree::NodeId> {
    let found = above.iter().rev().find(|object| object.kind == kind);
    found.map(|object| object.node.id())
}

/// A hardware thread in no core is a core of its own.
fn add(cores: &mut Cores<'_>, core: Option<roxmltree::NodeId>, cpu: CpuId) {
    match cores.last_mut() {
        Some((last, found)) if core.is_some() && *last == core => found.pus.push(cpu),
        _ => cores.push((core, Core { pus: vec![cpu] })),
    }
}

fn package(cores: Cores<'_>) -> Package {
    Package {
        cores: cores.into_iter().map(|(_, core)| core).collect(),
    }
}

/// NUMA nodes in the kernel's order. A node that has only memory, and whose place is unknown, hangs under the machine with
/// every CPU; it has none of its own.
fn numa_nodes(tree: &Tree<'_>) -> Result<Vec<NumaNode>, XmlError> {
    let mut found = Vec::new();
    tree.each("NUMANode", |object, above| {
        let is_under_machine = above.last().is_some_and(|above| above.kind == "Machine");
        found.push((object.node, object.cpus.clone(), is_under_machine));
    });
    let some_below = found.iter().any(|(.., is_under_machine)| !is_under_machine);
    let mut nodes = Vec::new();
    for (node, cpus, is_under_machine) in found {
        nodes.push(NumaNode {
            id: NumaId(os_number(node)?),
            cpus: match some_below && is_under_machine {
                true => CpuSet::new(),
                false => cpus,
            },
        });
    }
    nodes.sort_by_key(|node| node.id);
    Ok(nodes)
}

/// Adds what slurmd's filters drop.
pub(super) fn add_dropped(whole: &Tree<'_>, parts: &mut Parts) {
    let slurmds = order(parts);
    let known: CpuSet = slurmds.iter().copied().collect();
    let of = |kind| {
        let sets = whole.sets(kind).into_iter();
        let cut = sets.map(|set| set.intersection(&known));
        cut.filter(|set| !set.is_empty()).collect()
    };
    (parts.dies, parts.l2_caches, parts.l1_caches) = (of("Die"), of("L2Cache"), of("L1Cache"));
    let mut order = Vec::new();
    whole.each("PU", |pu, _| {
        order.extend(os_number(pu.node).ok().map(CpuId))
    });
    if order != slurmds {
        parts.whole_order = order;
    }
}

/// All CPUs, in the order of their cores.
fn order(parts: &Parts) -> Vec<CpuId> {
    let cores = parts.packages.iter().flat_map(|package| &package.cores);
    cores.flat_map(|core| core.pus.iter().copied()).collect()
}

/// All CPUs.
pub(super) fn cpus(parts: &Parts) -> CpuSet {
    order(parts).into_iter().collect()
}
