//! Machines as one line of text each. Before the first semicolon stand the packages:
//!
//! ```text
//! 0,1 2,3 | 4,5 6             packages parted by |, cores by blanks, hardware threads by commas
//! 2x4x2 threads-last          packages × cores × threads, and their numbering
//! SCTTCTT                     as Grid Engine writes a machine
//! pack:2 numa:2 l3:1 core:4 pu:2 threads-last
//! ```
//!
//! Behind it what else is there: `allowed 0-5; numa 0=0-3 1=4-6; l3 0-3 4-6; gpu c1=0-3 c2=; isolated 6; sockets l3`.
//! Without `numa` and `l3` each package has a NUMA node and an L3 cache of its own.

use std::fmt;
use std::sync::Arc;

use berth_placement::topology::devices::Pci;
use berth_placement::{
    Core, CoreKind, CpuId, CpuSet, Device, DeviceKind, Machine, MachineError, NumaId, NumaNode,
    Package, Parts, PciAddress, Shape, SocketKind,
};

use super::tree::Tree;

/// A machine, and how slurmd counts it.
#[derive(Clone)]
pub struct Host {
    pub machine: Arc<Machine>,
    pub kind: SocketKind,
    /// What slurmd counts, where that is not the usual count.
    pub shape: Option<Shape>,
    /// berth has no description of the machine, and knows only slurmd's count.
    pub is_unknown: bool,
}

const KINDS: [(&str, SocketKind); 3] = [
    ("package", SocketKind::Package),
    ("numa", SocketKind::Numa),
    ("l3", SocketKind::L3),
];

/// The machine of a line.
pub fn host(line: &str) -> Host {
    read(line).unwrap_or_else(|why| panic!("{line}: {why}"))
}

/// The machine of a line, or why its parts are no machine.
pub fn read(line: &str) -> Result<Host, MachineError> {
    let mut words = line.split(';').map(str::trim);
    let mut parts = packages(words.next().unwrap_or_default());
    let (mut kind, mut shape, mut is_unknown) = (SocketKind::Package, None, false);
    for word in words {
        let (name, value) = word.split_once(' ').unwrap_or((word, ""));
        match name {
            "sockets" => {
                kind = KINDS
                    .iter()
                    .find(|(known, _)| *known == value)
                    .expect("a kind")
                    .1
            }
            "unknown" => is_unknown = true,
            "counted" => shape = Some(counted(value)),
            _ => add(&mut parts, name, value),
        }
    }
    Ok(Host {
        machine: Arc::new(Machine::new(parts)?),
        kind,
        shape,
        is_unknown,
    })
}

pub fn list(text: &str) -> CpuSet {
    CpuSet::from_list(text).unwrap_or_else(|why| panic!("{text}: {why}"))
}

fn lists(text: &str) -> Vec<CpuSet> {
    text.split_whitespace().map(list).collect()
}

fn number(text: &str) -> u32 {
    text.parse().unwrap_or_else(|_| panic!("{text}: a number"))
}

/// Pairs such as `0=0-3`.
fn pairs(text: &str) -> impl Iterator<Item = (&str, CpuSet)> {
    text.split_whitespace().map(|word| {
        let (name, cpus) = word.split_once('=').expect("a name and CPUs");
        (name, list_or_none(cpus))
    })
}

fn list_or_none(text: &str) -> CpuSet {
    if text.is_empty() {
        CpuSet::new()
    } else {
        list(text)
    }
}

/// The text before the first semicolon.
fn packages(text: &str) -> Parts {
    let sizes: Vec<_> = text
        .split([':', 'x', ' '])
        .filter_map(|part| part.parse().ok())
        .collect();
    if text.starts_with("pack:") {
        let sizes = sizes.try_into().expect("five sizes");
        return regular(sizes, text.ends_with("threads-last"));
    }
    if text
        .split(' ')
        .next()
        .is_some_and(|word| word.contains('x'))
    {
        let numbering = text
            .split_once(' ')
            .map_or("block", |(_, numbering)| numbering);
        let numbering = numbering.parse().expect("a numbering");
        let machine = Machine::regular(sizes[0], sizes[1], sizes[2], numbering).expect("a machine");
        return machine.parts().clone();
    }
    if text.starts_with('S') {
        return of_letters(text);
    }
    let core = |text: &str| Core {
        pus: text
            .split(',')
            .flat_map(|part| list(part).iter().collect::<Vec<_>>())
            .collect(),
    };
    let package = |text: &str| Package {
        cores: text.split_whitespace().map(core).collect(),
    };
    of_packages(text.split('|').map(package).collect())
}

/// Each package has an L3 cache and a NUMA node of its own.
fn of_packages(packages: Vec<Package>) -> Parts {
    let cpus = |package: &Package| -> CpuSet {
        package
            .cores
            .iter()
            .flat_map(|core| core.pus.clone())
            .collect()
    };
    let l3_caches: Vec<CpuSet> = packages.iter().map(cpus).collect();
    let node = |(id, cpus): (u32, &CpuSet)| NumaNode {
        id: NumaId(id),
        cpus: cpus.clone(),
    };
    Parts {
        numa_nodes: (0..).zip(&l3_caches).map(node).collect(),
        allowed: l3_caches.iter().flat_map(CpuSet::iter).collect(),
        packages,
        l3_caches,
        ..Parts::default()
    }
}

/// Sockets `S`, cores `C` and hardware threads `T`, numbered in this order.
fn of_letters(letters: &str) -> Parts {
    let mut next = 0;
    let mut core = |threads: &str| {
        let first = next;
        next += threads.len().max(1) as u32;
        Core {
            pus: (first..next).map(CpuId).collect(),
        }
    };
    let package = |cores: &str| Package {
        cores: cores.split('C').skip(1).map(&mut core).collect(),
    };
    Parts {
        packages: letters.split('S').skip(1).map(package).collect(),
        allowed: CpuSet::first(next),
        ..Parts::default()
    }
}

/// The CPUs of each object of so many, where all objects are equal: `size` is packages × NUMA nodes × L3 caches ×
/// cores × threads.
fn equal_parts(size: [u32; 5], count: u32, threads_last: bool) -> Vec<CpuSet> {
    let threads = size[4];
    let cores: u32 = size[..4].iter().product();
    let cpu = |core: u32, thread: u32| match threads_last {
        true => CpuId(thread * cores + core),
        false => CpuId(core * threads + thread),
    };
    let each = cores / count;
    let cpus = |object: u32| {
        let own = object * each..(object + 1) * each;
        own.flat_map(|core| (0..threads).map(move |thread| cpu(core, thread)))
            .collect()
    };
    (0..count).map(cpus).collect()
}

fn regular(size: [u32; 5], threads_last: bool) -> Parts {
    let [packages, numa, l3, cores, _] = size;
    let parts = |count| equal_parts(size, count, threads_last);
    let each = parts(packages * numa * l3 * cores);
    let core = |cpus: &CpuSet| Core {
        pus: cpus.iter().collect(),
    };
    let package = |cores: &[CpuSet]| Package {
        cores: cores.iter().map(core).collect(),
    };
    let node = |(id, cpus)| NumaNode {
        id: NumaId(id),
        cpus,
    };
    Parts {
        allowed: each.iter().flat_map(CpuSet::iter).collect(),
        packages: each
            .chunks((numa * l3 * cores) as usize)
            .map(package)
            .collect(),
        numa_nodes: (0..).zip(parts(packages * numa)).map(node).collect(),
        l3_caches: parts(packages * numa * l3),
        l2_caches: each.clone(),
        l1_caches: each,
        ..Parts::default()
    }
}

fn add(parts: &mut Parts, name: &str, value: &str) {
    match name {
        "allowed" => parts.allowed = list(value),
        "numa" => {
            let node = |(id, cpus): (&str, CpuSet)| NumaNode {
                id: NumaId(number(id)),
                cpus,
            };
            parts.numa_nodes = pairs(value).map(node).collect();
        }
        "distances" => {
            let row = |row: &str| row.split(',').map(number).collect();
            parts.numa_distances = value.split_whitespace().map(row).collect();
        }
        "dies" => parts.dies = lists(value),
        "l3" => parts.l3_caches = lists(value),
        "l2" => parts.l2_caches = lists(value),
        "l1" => parts.l1_caches = lists(value),
        "order" => parts.whole_order = value.split(',').map(|cpu| CpuId(number(cpu))).collect(),
        "kinds" => parts.kinds = pairs(value).map(kind).collect(),
        "isolated" => parts.isolated = list(value),
        "held" => parts.held = list(value),
        "gpu" => parts.devices = pairs(value).map(|(bus, cpus)| gpu(bus, cpus)).collect(),
        other => panic!("{other} is no part of a machine"),
    }
}

/// A kind of cores by its rank, or by hwloc's name of it.
fn kind((name, cpus): (&str, CpuSet)) -> CoreKind {
    let rank = name.parse().ok();
    let info = ("CoreType".to_owned(), name.to_owned());
    CoreKind {
        cpus,
        rank,
        infos: if rank.is_none() {
            vec![info]
        } else {
            Vec::new()
        },
    }
}

/// A GPU by its bus, and the CPUs next to it.
pub fn gpu(bus: &str, cpus: CpuSet) -> Device {
    let bus = u8::from_str_radix(bus, 16).expect("a bus");
    let address = PciAddress {
        bus,
        ..PciAddress::default()
    };
    let pci = Pci {
        address,
        class: 0x0302,
        vendor: 0x10de,
        ..Pci::default()
    };
    Device {
        kind: DeviceKind::Gpu,
        names: vec![format!("card{bus}")],
        pci: Some(pci),
        cpus,
        numa_node: None,
    }
}

/// slurmd's count of a node, such as `1x4x2 0,1,2,3,4,5,6,7` with its map.
fn counted(text: &str) -> Shape {
    let (sizes, map) = text.split_once(' ').expect("sizes and a map");
    let sizes: Vec<_> = sizes.split('x').map(number).collect();
    Shape {
        sockets: sizes[0],
        cores: sizes[1],
        threads: sizes[2],
        stride: sizes[2],
        cpus_are_cores: false,
        map: map.split(',').map(|cpu| CpuId(number(cpu))).collect(),
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = self.machine.parts();
        let numbers = |core: &Core| joined(&core.pus, ",");
        let package = |package: &Package| joined(package.cores.iter().map(numbers), " ");
        f.write_str(&joined(parts.packages.iter().map(package), " | "))?;
        if self.machine.allowed() != self.machine.cpus() {
            write!(f, "; allowed {}", self.machine.allowed())?;
        }
        let nodes = parts.numa_nodes.iter();
        let nodes = nodes.map(|node| format!("{}={}", node.id, node.cpus));
        write!(
            f,
            "; numa {}; l3 {}",
            joined(nodes, " "),
            joined(&parts.l3_caches, " ")
        )?;
        if !parts.l2_caches.is_empty() {
            let (l2, l1) = (joined(&parts.l2_caches, " "), joined(&parts.l1_caches, " "));
            write!(f, "; l2 {l2}; l1 {l1}")?;
        }
        if !parts.numa_distances.is_empty() {
            let rows = parts.numa_distances.iter().map(|row| joined(row, ","));
            write!(f, "; distances {}", joined(rows, " "))?;
        }
        let gpus = parts.devices.iter().filter_map(|device| {
            let bus = device.pci?.address.bus;
            Some(format!("{bus:02x}={}", device.cpus))
        });
        write!(f, "; gpu {}", joined(gpus, " "))?;
        let kind = KINDS.iter().find(|(_, kind)| *kind == self.kind);
        write!(f, "; sockets {}", kind.map_or("", |(name, _)| name))
    }
}

fn joined<T: ToString>(parts: impl IntoIterator<Item = T>, between: &str) -> String {
    let parts: Vec<_> = parts.into_iter().map(|part| part.to_string()).collect();
    parts.join(between)
}
