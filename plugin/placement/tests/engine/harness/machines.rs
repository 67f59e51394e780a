//! Machines of every shape: synthetic ones whose hardware threads, cores and packages are taken
//! away at random, with memory, caches, GPUs and kernel numbers of every sort.

use berth_placement::{Core, CpuId, CpuSet, Device, Machine, NumaId, NumaNode, Package, Parts};

use super::machine_text::gpu;
use super::random::Random;
use super::tree::objects;

/// Which machines are made, and how many of them.
#[derive(Clone, Copy)]
pub enum Sort {
    /// Up to 288 hardware threads.
    Any,
    /// The same, and fewer of them: for laws that ask several times.
    Fewer,
    /// Up to 30 hardware threads and five packages, with distances between the NUMA nodes.
    Small,
}

impl Sort {
    pub fn count(self) -> u64 {
        match self {
            Self::Any => 10_000,
            Self::Fewer => 4_000,
            Self::Small => 2_000,
        }
    }
}

/// Every core of a package is a list of hardware threads, which are numbered in topology order.
type Cores = Vec<Vec<usize>>;

/// The machine of a seed's stream.
pub fn machine(random: &mut Random, sort: Sort) -> Machine {
    let packages = whole(random, sort);
    let number = numbers(random, &packages);
    let left = restricted(random, &packages, number.len());
    let number = compacted(random, number, &left);
    let set = |pus: &[usize]| -> CpuSet {
        let pus = pus.iter().filter(|pu| left[**pu]);
        pus.map(|pu| number[*pu]).collect()
    };
    let sets = |all: Vec<Vec<usize>>| -> Vec<CpuSet> {
        let mut sets: Vec<_> = all.into_iter().map(|pus| set(&pus)).collect();
        sets.retain(|cpus| !cpus.is_empty());
        sets
    };
    let l3_caches = sets(caches(random, &packages));
    let nodes = nodes(random, &packages);
    let numa_distances = distances(random, nodes.len(), sort);
    let node = |(id, pus): (u32, Vec<usize>)| NumaNode {
        id: NumaId(id),
        cpus: set(&pus),
    };
    let numa_nodes = nodes.into_iter().map(node).collect();
    let has_small_caches = random.once_in(2);
    let small_caches = sets(if has_small_caches {
        packages.concat()
    } else {
        Vec::new()
    });
    let all: Vec<usize> = (0..number.len()).collect();
    let parts = Parts {
        l2_caches: small_caches.clone(),
        l1_caches: small_caches,
        l3_caches,
        numa_nodes,
        numa_distances,
        allowed: allowed(random, &set(&all), sort),
        packages: kept(&packages, &left, &number),
        ..Parts::default()
    };
    let machine = Machine::new(parts);
    let machine = machine.expect("one hardware thread is left, and each has its own number");
    with_gpus(random, &machine)
}

/// The packages and cores of what is left.
fn kept(packages: &[Cores], left: &[bool], number: &[CpuId]) -> Vec<Package> {
    let core = |pus: &Vec<usize>| -> Core {
        let pus = pus.iter().filter(|pu| left[**pu]);
        Core {
            pus: pus.map(|pu| number[*pu]).collect(),
        }
    };
    let package = |cores: &Cores| -> Package {
        let cores = cores.iter().map(core);
        Package {
            cores: cores.filter(|core| !core.pus.is_empty()).collect(),
        }
    };
    let packages = packages.iter().map(package);
    packages
        .filter(|package| !package.cores.is_empty())
        .collect()
}

/// A machine with other GPUs: each is next to some object, or hwloc does not know its place.
pub fn with_gpus(random: &mut Random, machine: &Machine) -> Machine {
    let objects = objects(machine);
    let gpus: Vec<Device> = (1..=random.within(1, 5))
        .map(|bus| {
            let place = random.within(0, objects.len() as u32) as usize;
            gpu(
                &bus.to_string(),
                objects.get(place).cloned().unwrap_or_default(),
            )
        })
        .collect();
    machine.with_devices(gpus).expect("devices")
}

/// Packages of equal cores, or of two kinds of cores, before anything is taken away.
fn whole(random: &mut Random, sort: Sort) -> Vec<Cores> {
    let (packages, cores, threads) = match sort {
        Sort::Any | Sort::Fewer => (4, 9, random.pick(&[1, 2, 2, 2, 4, 8])),
        Sort::Small => (5, 3, random.within(1, 2)),
    };
    let (packages, cores) = (random.within(1, packages), random.within(1, cores));
    let hybrid = random.once_in(4);
    let (first_small, mixed) = (random.within(0, cores), random.once_in(3));
    let mut next = 0_usize;
    let mut make = |core: u32| -> Vec<usize> {
        let small = hybrid
            && (if mixed {
                core % 2 == 1
            } else {
                core >= first_small
            });
        let count = if small { 1 } else { threads };
        let pus = (next..next + count as usize).collect();
        next += count as usize;
        pus
    };
    (0..packages)
        .map(|_| (0..cores).map(&mut make).collect())
        .collect()
}

/// Which hardware threads stay: siblings, cores and packages go offline.
fn restricted(random: &mut Random, packages: &[Cores], count: usize) -> Vec<bool> {
    let mut left = vec![true; count];
    let (some_pus, some_cores) = (random.once_in(3), random.once_in(3));
    let (rarity, last) = (random.pick(&[2, 4, 16]), random.once_in(3));
    for package in packages {
        let whole = random.once_in(12);
        for core in package {
            let gone = whole || (some_cores && random.once_in(rarity));
            for &pu in core {
                let offline = some_pus && random.once_in(rarity);
                left[pu] = !(gone || offline);
            }
        }
    }
    left[count - 1] &= !last;
    if !left.contains(&true) {
        left[random.within(0, count as u32 - 1) as usize] = true;
    }
    left
}

/// The kernel's number of each hardware thread.
fn numbers(random: &mut Random, packages: &[Cores]) -> Vec<CpuId> {
    let mut place = Vec::new();
    for (s, package) in packages.iter().enumerate() {
        for (c, core) in package.iter().enumerate() {
            place.extend(core.iter().enumerate().map(|(t, _)| (s, c, t)));
        }
    }
    let mut order: Vec<usize> = (0..place.len()).collect();
    match random.within(0, 3) {
        0 => {}
        1 => order.sort_by_key(|pu| (place[*pu].2, place[*pu].1, place[*pu].0)),
        2 => order.sort_by_key(|pu| (place[*pu].2, place[*pu].0, place[*pu].1)),
        _ => random.shuffle(&mut order),
    }
    let mut ranks: Vec<u32> = (0..order.len() as u32).collect();
    if random.once_in(3) {
        let mut wide: Vec<u32> = (0..3 * order.len() as u32).collect();
        random.shuffle(&mut wide);
        wide.truncate(order.len());
        wide.sort_unstable();
        ranks = wide;
    }
    let mut number = vec![CpuId(0); order.len()];
    for (pu, rank) in order.into_iter().zip(ranks) {
        number[pu] = CpuId(rank);
    }
    number
}

/// Some firmware numbers only what is there.
fn compacted(random: &mut Random, number: Vec<CpuId>, left: &[bool]) -> Vec<CpuId> {
    if !random.once_in(3) {
        return number;
    }
    let rank = |pu: usize| {
        let before = |other: &usize| left[*other] && number[*other] < number[pu];
        CpuId((0..number.len()).filter(before).count() as u32)
    };
    // What is gone gets a number too, which nobody asks for.
    (0..number.len()).map(rank).collect()
}

/// The hardware threads of each run of so many cores of each package.
fn runs(packages: &[Cores], parts: u32) -> Vec<Vec<usize>> {
    let run = |cores: &Cores| -> Vec<Vec<usize>> {
        let length = cores.len().div_ceil(parts as usize);
        cores.chunks(length).map(<[Vec<usize>]>::concat).collect()
    };
    packages.iter().flat_map(run).collect()
}

fn caches(random: &mut Random, packages: &[Cores]) -> Vec<Vec<usize>> {
    let parts = random.pick(&[0, 1, 1, 2, 3, 8]);
    if parts == 0 {
        return vec![];
    }
    let mut caches = runs(packages, parts);
    if random.once_in(6) {
        // Small cores of some chips are under no L3 cache.
        caches.pop();
    }
    caches
}

/// NUMA nodes: several in a package, one over several, nested ones, some without CPUs, and CPUs
/// in no node.
fn nodes(random: &mut Random, packages: &[Cores]) -> Vec<(u32, Vec<usize>)> {
    let mut nodes = match random.within(0, 7) {
        0 => vec![],
        1 => vec![packages.concat().concat()],
        2 | 3 => runs(packages, 1),
        4 => runs(packages, 2),
        5 => runs(packages, 4),
        6 => [runs(packages, 1), runs(packages, 2)].concat(),
        _ => [runs(packages, 3), runs(packages, 3)].concat(),
    };
    if random.once_in(8) {
        nodes.pop();
    }
    if random.once_in(4) {
        nodes.push(vec![]);
    }
    let mut ids: Vec<u32> = (0..nodes.len() as u32).collect();
    if random.once_in(4) {
        ids.iter_mut().for_each(|id| *id = *id * 8 + 1);
        random.shuffle(&mut ids);
    }
    let mut nodes: Vec<_> = ids.into_iter().zip(nodes).collect();
    nodes.sort();
    nodes
}

/// Symmetric distances from 11 to 14 between so many NUMA nodes of small machines.
fn distances(random: &mut Random, count: usize, sort: Sort) -> Vec<Vec<u32>> {
    if !matches!(sort, Sort::Small) {
        return Vec::new();
    }
    let far: Vec<u32> = (0..count * count).map(|_| random.within(11, 14)).collect();
    let entry = |one: usize, other: usize| match one == other {
        true => 10,
        false => far[one.min(other) * count + one.max(other)],
    };
    let row = |one| (0..count).map(|other| entry(one, other)).collect();
    (0..count).map(row).collect()
}

fn allowed(random: &mut Random, all: &CpuSet, sort: Sort) -> CpuSet {
    if matches!(sort, Sort::Small) || !random.once_in(4) {
        return all.clone();
    }
    let cpus: Vec<CpuId> = all.iter().collect();
    let some = random.some_of(cpus.len() as u32);
    some.into_iter().map(|at| cpus[at as usize]).collect()
}

/// A machine whose CPUs have the kernel numbers that `name` gives them.
pub fn renamed(machine: &Machine, name: &dyn Fn(CpuId) -> CpuId) -> Machine {
    let set = |cpus: &CpuSet| -> CpuSet { cpus.iter().map(name).collect() };
    let mut parts = machine.parts().clone();
    let cores = parts
        .packages
        .iter_mut()
        .flat_map(|package| &mut package.cores);
    cores
        .flat_map(|core| &mut core.pus)
        .for_each(|cpu| *cpu = name(*cpu));
    parts
        .numa_nodes
        .iter_mut()
        .for_each(|node| node.cpus = set(&node.cpus));
    parts.allowed = set(&parts.allowed);
    let of_kinds = parts.kinds.iter_mut().map(|kind| &mut kind.cpus);
    let caches = [
        &mut parts.dies,
        &mut parts.l3_caches,
        &mut parts.l2_caches,
        &mut parts.l1_caches,
    ];
    let objects = caches.into_iter().flatten();
    let of_devices = parts.devices.iter_mut().map(|device| &mut device.cpus);
    let others = of_kinds.chain(of_devices).chain([&mut parts.isolated]);
    for cpus in objects.chain(others) {
        *cpus = set(&cpus.intersection(machine.cpus()));
    }
    Machine::new(parts).expect("different numbers stay different")
}

/// A number for each of the machine's CPUs, with gaps of up to twice their count.
pub fn names(random: &mut Random, machine: &Machine) -> impl Fn(CpuId) -> CpuId + use<> {
    let old: Vec<CpuId> = machine.cpus().iter().collect();
    let mut new: Vec<u32> = (0..3 * old.len() as u32).collect();
    random.shuffle(&mut new);
    move |cpu| {
        let at = old.binary_search(&cpu).expect("a CPU of the machine");
        CpuId(new[at])
    }
}
