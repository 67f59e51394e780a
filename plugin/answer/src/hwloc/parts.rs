//! The parts of a machine from its objects. Order is hwloc's logical order, which slurmd follows.

use berth_placement::{Core, CpuId, CpuSet, NumaId, NumaNode, Package, Parts};

use super::NoMachine;
use super::object::Object;
use super::xml::set;

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
