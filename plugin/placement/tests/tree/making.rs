//! Machines of every shape: synthetic ones whose hardware threads, cores and packages are taken
//! away at random, with memory, caches, core kinds and kernel numbers of every sort.

use berth_placement::{Core, CpuId, CpuSet, Machine, NumaId, NumaNode, Package, Parts};

use super::random::Random;

/// Every core of a package is a list of hardware threads, which are numbered in topology order.
type Cores = Vec<Vec<usize>>;

/// The machine of a seed's stream.
pub fn machine(random: &mut Random) -> Machine {
    let packages = whole(random);
    let number = numbers(random, &packages);
    let left = restricted(random, &packages, number.len());
    let number = compacted(random, number, &left);
    let set = |pus: &mut dyn Iterator<Item = usize>| -> CpuSet {
        pus.filter(|pu| left[*pu]).map(|pu| number[pu]).collect()
    };
    let l3_caches = caches(random, &packages);
    let l3_caches = l3_caches
        .into_iter()
        .map(|cache| set(&mut cache.into_iter()));
    let nodes = nodes(random, &packages);
    let numa_nodes = nodes.into_iter().map(|(id, pus)| NumaNode {
        id: NumaId(id),
        cpus: set(&mut pus.into_iter()),
    });
    let core = |pus: &Vec<usize>| Core {
        pus: pus
            .iter()
            .filter(|pu| left[**pu])
            .map(|pu| number[*pu])
            .collect(),
    };
    let parts = Parts {
        l3_caches: l3_caches.filter(|cache| !cache.is_empty()).collect(),
        numa_nodes: numa_nodes.collect(),
        allowed: allowed(random, &set(&mut (0..number.len()))),
        packages: packages
            .iter()
            .map(|cores| {
                cores
                    .iter()
                    .map(core)
                    .filter(|core| !core.pus.is_empty())
                    .collect()
            })
            .map(|cores: Vec<Core>| Package { cores })
            .filter(|package| !package.cores.is_empty())
            .collect(),
        ..Parts::default()
    };
    Machine::new(parts).expect("one hardware thread is left, and each has its own number")
}

/// Packages of equal cores, or of two kinds of cores, before anything is taken away.
fn whole(random: &mut Random) -> Vec<Cores> {
    let packages = random.within(1, 4);
    let cores = random.within(1, 9);
    let threads = random.pick(&[1, 2, 2, 2, 4, 8]);
    let hybrid = random.once_in(4);
    let (first_small, mixed) = (random.within(0, cores), random.once_in(3));
    let mut next = 0;
    let mut make = |core: u32| -> Vec<usize> {
        let small = hybrid
            && (if mixed {
                core % 2 == 1
            } else {
                core >= first_small
            });
        let count = if small { 1 } else { threads };
        let pus = (next..next + count).collect();
        next += count;
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

fn allowed(random: &mut Random, all: &CpuSet) -> CpuSet {
    if !random.once_in(4) {
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
    for cpus in objects.chain(of_kinds).chain([&mut parts.isolated]) {
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
