//! A node's numbers, as the JSON of `berth topo` has them and as its table shows them.
//! In: a machine. Out: plain fields.

use std::collections::BTreeMap;

use berth_discover::Discovered;
use berth_placement::{CoreKind, CpuSet, Device, Machine, ObjectKind, Shape, SocketKind};
use serde::Serialize;

use super::Apart;
use berth_answer::parents::Parents;

/// `berth-topo`, version 1.
#[derive(Serialize)]
pub(super) struct Document {
    format: &'static str,
    version: u32,
    pub source: String,
    pub m_topology: String,
    pub m_socket: usize,
    pub m_core: usize,
    pub m_thread: usize,
    pub numa_nodes: String,
    /// S:C:T as slurmd counts them.
    shape: [u32; 3],
    allowed: String,
    pub offline: String,
    pub isolated: String,
    /// What other software holds for itself by a cgroup.
    pub held: String,
    /// `reserved=` of the site, on this system alone.
    pub reserved: String,
    pub cores: Vec<Core>,
    objects: Objects,
    pub kinds: Vec<Kind>,
    pub devices: Vec<DeviceRow>,
    pub notes: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct Core {
    pub core: u32,
    pub socket: u32,
    pub numa_node: Option<u32>,
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
pub(super) struct Kind {
    pub cpus: String,
    pub rank: Option<u32>,
    pub infos: BTreeMap<String, String>,
}

#[derive(Serialize)]
pub(super) struct DeviceRow {
    pub kind: &'static str,
    pub names: Vec<String>,
    pub pci: Option<String>,
    class: Option<String>,
    vendor: Option<String>,
    product: Option<String>,
    pub cpus: String,
    pub numa_node: Option<u32>,
}

impl Document {
    pub(super) fn of(found: &Discovered, kind: SocketKind, apart: &Apart) -> Self {
        let machine = &found.machine;
        let shape = Shape::of(machine, kind);
        let parents = Parents::new(machine, kind);
        let cores = parents.cores().map(|place| Core {
            core: place.id.0,
            socket: place.socket,
            numa_node: parents.numa_of(place.id).map(|node| node.0),
            cpus: parents.cpus_of(place.id).iter().map(|cpu| cpu.0).collect(),
        });
        Self {
            format: "berth-topo",
            version: 1,
            source: found.source.clone(),
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
            notes: found.notes.clone(),
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
