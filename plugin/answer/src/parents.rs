//! Which sockets, NUMA nodes and cores a set of CPUs touches, by logical number.

use berth_placement::{CoreIdx, CpuId, CpuSet, Machine, NumaId, SocketKind};

/// A machine's cores with their sockets and NUMA nodes.
pub struct Parents<'a> {
    machine: &'a Machine,
    /// Cores by socket, in Slurm's order.
    pub sockets: Vec<Vec<CoreIdx>>,
    /// The CPUs nearest to each NUMA node.
    numa: Vec<(NumaId, CpuSet)>,
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
    pub fn numa_of(&self, core: CoreIdx) -> Option<NumaId> {
        let first = self.cpus_of(core).first()?;
        let near = self.numa.iter().find(|(_, near)| near.contains(*first));
        near.map(|(id, _)| *id)
    }
}
