//! Which sockets, NUMA nodes, caches and cores a set of CPUs touches, by logical number.

use berth_placement::{
    CoreIdx, CpuId, CpuSet, Device, DeviceKind, Machine, NumaId, ObjectKind, SocketKind,
};

/// A machine's cores with their sockets and NUMA nodes.
pub struct Parents<'a> {
    machine: &'a Machine,
    /// Cores by socket, in Slurm's order.
    pub sockets: Vec<Vec<CoreIdx>>,
    /// The CPUs nearest to each NUMA node.
    numa: Vec<(NumaId, CpuSet)>,
    /// The CPUs of each L3 cache.
    caches: Vec<CpuSet>,
}

/// A core by its place.
#[derive(Clone, Copy)]
pub struct CorePlace {
    /// The number of its socket.
    pub socket: u32,
    /// The core.
    pub id: CoreIdx,
}

impl<'a> Parents<'a> {
    /// Looks a machine through.
    pub fn new(machine: &'a Machine, kind: SocketKind) -> Self {
        Self {
            machine,
            sockets: machine.sockets(kind),
            numa: machine.cpus_by_nearest_node(),
            caches: machine.objects(ObjectKind::L3),
        }
    }

    /// Numbers of the sockets, NUMA nodes and cores, as lists.
    pub fn of(&self, cpus: &CpuSet) -> [String; 3] {
        let (mut sockets, mut cores) = (CpuSet::new(), CpuSet::new());
        for place in self.cores_of(cpus) {
            sockets.insert(CpuId(place.socket));
            cores.insert(CpuId(place.id.0));
        }
        let touched = self.numa.iter().filter(|(_, near)| near.intersects(cpus));
        let numa: CpuSet = touched.map(|(id, _)| CpuId(id.0)).collect();
        [sockets, numa, cores].map(|set| set.to_string())
    }

    /// Numbers of the L3 caches, as a list.
    pub(crate) fn caches_of(&self, cpus: &CpuSet) -> String {
        numbers_of(self.caches.iter(), cpus)
    }

    /// Numbers of the GPUs next to some CPUs, counted in PCI order, as a list.
    pub(crate) fn gpus_of(&self, cpus: &CpuSet) -> String {
        numbers_of(gpus(self.machine).map(|gpu| &gpu.cpus), cpus)
    }

    /// The cores that have one of some CPUs.
    pub fn cores_of<'s>(&'s self, cpus: &'s CpuSet) -> impl Iterator<Item = CorePlace> + 's {
        self.cores()
            .filter(|place| self.cpus_of(place.id).iter().any(|cpu| cpus.contains(*cpu)))
    }

    /// Every core.
    pub fn cores(&self) -> impl Iterator<Item = CorePlace> + '_ {
        (0..)
            .zip(&self.sockets)
            .flat_map(|(socket, cores)| cores.iter().map(move |id| CorePlace { socket, id: *id }))
    }

    /// A core's hardware threads.
    pub fn cpus_of(&self, core: CoreIdx) -> &'a [CpuId] {
        self.machine.pus_of(core)
    }

    /// The NUMA node that a core is nearest to.
    pub(crate) fn numa_of(&self, core: CoreIdx) -> Option<NumaId> {
        let first = self.cpus_of(core).first()?;
        let near = self.numa.iter().find(|(_, near)| near.contains(*first));
        near.map(|(id, _)| *id)
    }
}

/// The GPUs of a machine, in PCI order.
pub(crate) fn gpus(machine: &Machine) -> impl Iterator<Item = &Device> {
    let devices = machine.devices().iter();
    devices.filter(|device| device.kind == DeviceKind::Gpu)
}

/// Positions of the sets that have one of some CPUs, as a list.
fn numbers_of<'a>(sets: impl Iterator<Item = &'a CpuSet>, cpus: &CpuSet) -> String {
    let touched = (0..).zip(sets).filter(|(_, set)| set.intersects(cpus));
    let numbers: CpuSet = touched.map(|(number, _)| CpuId(number)).collect();
    numbers.to_string()
}
