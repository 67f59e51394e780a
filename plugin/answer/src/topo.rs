//! A node's numbers, as the JSON of `berth topo` has them and as its table shows them; the known machines.
//! In: a machine. Out: plain fields.

use std::collections::BTreeMap;

use berth_placement::topology::presets::{PRESETS, Preset};
use berth_placement::{CoreKind, CpuSet, Device, Machine, ObjectKind, Shape, SocketKind};
use serde::Serialize;

use crate::parents::Parents;

/// CPUs of a running system that are not as the others.
#[derive(Default)]
pub struct Apart {
    /// Only the running kernel knows them.
    pub offline: CpuSet,
    /// `reserved=`, where slurmd with berth runs.
    pub reserved: CpuSet,
}

/// `berth-topo`, version 1.
#[derive(Serialize)]
pub struct Document<'a> {
    /// The text that stands for the machine.
    pub source: &'a str,
    /// Grid Engine's topology string.
    pub m_topology: String,
    /// Sockets.
    pub m_socket: usize,
    /// Cores.
    pub m_core: usize,
    /// Hardware threads.
    pub m_thread: usize,
    /// Numbers of the NUMA nodes.
    pub numa_nodes: String,
    /// S:C:T as slurmd counts them.
    shape: [u32; 3],
    allowed: String,
    /// CPUs that are off.
    pub offline: String,
    /// CPUs that the kernel keeps free of tasks.
    pub isolated: String,
    /// The CPUs that other software holds for itself by a cgroup.
    pub held: String,
    /// `reserved=` of the site, on this system alone.
    pub reserved: String,
    /// Each core.
    pub cores: Vec<Core>,
    objects: Objects,
    /// Kinds of cores.
    pub kinds: Vec<Kind>,
    /// Devices.
    pub devices: Vec<DeviceRow>,
    /// Notes of the discovery, such as files of the kernel that it could not read.
    pub notes: &'a [String],
}

/// A core.
#[derive(Serialize)]
pub struct Core {
    /// Slurm's number.
    pub core: u32,
    /// Its socket.
    pub socket: u32,
    /// Its NUMA node.
    pub numa_node: Option<u32>,
    /// Its CPUs.
    pub cpus: Vec<u32>,
}

/// The CPUs of each object, in hwloc's order of the whole topology.
#[derive(Serialize)]
struct Objects {
    packages: Vec<String>,
    dies: Vec<String>,
    memory_domains: Vec<String>,
    l3_caches: Vec<String>,
    l2_caches: Vec<String>,
    l1_caches: Vec<String>,
    cores: Vec<String>,
    threads: Vec<String>,
}

/// Cores of one kind.
#[derive(Serialize)]
pub struct Kind {
    /// The CPUs.
    pub cpus: String,
    /// The higher, the faster.
    pub rank: Option<u32>,
    /// hwloc's words on it.
    pub infos: BTreeMap<String, String>,
}

/// A device.
#[derive(Serialize)]
pub struct DeviceRow {
    /// `gpu`, `nic` or another kind of device.
    pub kind: &'static str,
    /// Its names.
    pub names: Vec<String>,
    /// Its address.
    pub pci: Option<String>,
    class: Option<String>,
    vendor: Option<String>,
    product: Option<String>,
    /// The CPUs.
    pub cpus: String,
    /// Its NUMA node.
    pub numa_node: Option<u32>,
}

impl<'a> Document<'a> {
    /// The document of a machine; the notes are those of its discovery.
    #[must_use]
    pub fn of(
        source: &'a str,
        machine: &Machine,
        notes: &'a [String],
        kind: SocketKind,
        apart: &Apart,
    ) -> Self {
        let shape = Shape::of(machine, kind);
        let parents = Parents::new(machine, kind);
        let cores = parents.cores().map(|place| Core {
            core: place.id.0,
            socket: place.socket,
            numa_node: parents.numa_of(place.id).map(|node| node.0),
            cpus: parents.cpus_of(place.id).iter().map(|cpu| cpu.0).collect(),
        });
        Self {
            source,
            m_topology: machine.topology_string(kind),
            m_socket: parents.sockets.len(),
            m_core: machine.core_count(),
            m_thread: machine.cpus().count(),
            numa_nodes: machine.numa_nodes().to_string(),
            shape: [shape.sockets, shape.cores, shape.threads],
            allowed: machine.allowed().to_string(),
            offline: apart.offline.to_string(),
            isolated: machine.isolated().to_string(),
            held: machine.held().to_string(),
            reserved: apart.reserved.to_string(),
            cores: cores.collect(),
            objects: Objects::of(machine),
            kinds: machine.kinds().iter().map(Kind::of).collect(),
            devices: machine.devices().iter().map(DeviceRow::of).collect(),
            notes,
        }
    }
}

impl Objects {
    fn of(machine: &Machine) -> Self {
        let lists = |kind| {
            let sets = machine.objects(kind);
            sets.iter().map(CpuSet::to_string).collect()
        };
        Self {
            packages: lists(ObjectKind::Package),
            dies: lists(ObjectKind::Die),
            memory_domains: lists(ObjectKind::Numa),
            l3_caches: lists(ObjectKind::L3),
            l2_caches: lists(ObjectKind::L2),
            l1_caches: lists(ObjectKind::L1),
            cores: lists(ObjectKind::Core),
            threads: lists(ObjectKind::Pu),
        }
    }
}

impl Kind {
    fn of(kind: &CoreKind) -> Self {
        Self {
            cpus: kind.cpus.to_string(),
            rank: kind.rank,
            infos: kind.infos.iter().cloned().collect(),
        }
    }
}

impl DeviceRow {
    fn of(device: &Device) -> Self {
        let hexadecimal = |number: u16| format!("{number:04x}");
        Self {
            kind: device.kind.name(),
            names: device.names.clone(),
            pci: device.pci.map(|pci| pci.address.to_string()),
            class: device.pci.map(|pci| hexadecimal(pci.class)),
            vendor: device.pci.map(|pci| hexadecimal(pci.vendor)),
            product: device.pci.map(|pci| hexadecimal(pci.product)),
            cpus: device.cpus.to_string(),
            numa_node: device.numa_node.map(|node| node.0),
        }
    }
}

/// A machine that is known by a name.
#[derive(Serialize)]
pub struct Known {
    /// As it is typed.
    pub name: &'static str,
    /// Sockets.
    pub sockets: u32,
    /// Cores of each.
    pub cores_per_socket: u32,
    /// Hardware threads of each core.
    pub threads_per_core: u32,
    /// NUMA nodes of the machine.
    pub numa_nodes: u32,
    /// L3 caches of the machine.
    pub l3_caches: u32,
    /// GPUs of the machine.
    pub gpus: u32,
    /// The node in words.
    pub words: &'static str,
    /// The page that has the facts.
    pub source: &'static str,
}

impl Known {
    /// Every one, by name.
    #[must_use]
    pub fn all() -> Vec<Self> {
        PRESETS.iter().map(Self::of).collect()
    }

    /// The end of a message about a text that is no machine: the names that begin with it, whatever its case. Empty
    /// where there is none.
    #[must_use]
    pub fn proposed(text: &str) -> String {
        let text = text.trim().to_ascii_lowercase();
        let is_near = |name: &&str| text.len() > 1 && name.starts_with(&text);
        let names = PRESETS.iter().map(|preset| preset.name).filter(is_near);
        let names: Vec<_> = names.map(|name| format!("\"{name}\"")).collect();
        match names.is_empty() {
            true => String::new(),
            false => format!("; known machines with such a name: {}", names.join(", ")),
        }
    }

    fn of(preset: &Preset) -> Self {
        let [sockets, cores_per_socket, threads_per_core] = preset.size();
        Self {
            name: preset.name,
            sockets,
            cores_per_socket,
            threads_per_core,
            numa_nodes: preset.numa_count(),
            l3_caches: preset.cache_count(),
            gpus: preset.gpu_count(),
            words: preset.words,
            source: preset.source,
        }
    }
}
