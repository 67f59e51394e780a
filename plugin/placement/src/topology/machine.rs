//! The host's hardware as a checked tree: packages, cores, hardware threads, and the
//! memory and cache domains beside them. Uneven packages, mixed SMT, holes in
//! the numbering and several NUMA nodes per package are all ordinary here.
//! Pure data; `berth-discover` makes it, or it is read from a machine file.

use crate::sets::cpuset::CpuSet;
use crate::sets::cpuset::NodeSet;
use crate::sets::ids::{CoreIdx, CpuId, NumaId};
use crate::topology::devices::Device;
use crate::topology::parts::{CoreKind, MachineError};

pub use crate::topology::parts::{Core, NumaNode, Package, Parts};

/// The objects that count as sockets: slurmd's choice (`xcpuinfo_hwloc_topo_get`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SocketKind {
    /// The processor package.
    #[default]
    Package,
    /// `SlurmdParameters=numa_node_as_socket`.
    Numa,
    /// `SlurmdParameters=l3cache_as_socket`.
    L3,
}

/// The checked tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    parts: Parts,
    /// Every core in topology order, with the package it belongs to.
    cores: Vec<(usize, Core)>,
    cpus: CpuSet,
}

impl Machine {
    /// Checks what a discoverer found.
    ///
    /// # Errors
    /// [`MachineError`] if there is no CPU, if one CPU stands in two cores, in two caches of one
    /// level, in two dies or kinds, or if there are more devices than a node can have.
    pub fn new(parts: Parts) -> Result<Self, MachineError> {
        let mut cores = Vec::new();
        let mut cpus = CpuSet::new();
        for (package, found) in parts.packages.iter().enumerate() {
            for core in found.cores.iter().filter(|core| !core.pus.is_empty()) {
                for &cpu in &core.pus {
                    if cpus.contains(cpu) {
                        return Err(MachineError::CpuTwice(cpu));
                    }
                    cpus.insert(cpu);
                }
                cores.push((package, core.clone()));
            }
        }
        if cpus.is_empty() {
            return Err(MachineError::NoCpu);
        }
        parts.check()?;
        Ok(Self { parts, cores, cpus })
    }

    /// The machine with these of its CPUs alone; `None` if it has none of them.
    #[must_use]
    pub fn only(&self, cpus: &CpuSet) -> Option<Self> {
        Self::new(self.parts.only(cpus)).ok()
    }

    /// The parts it was made of, for writing it down.
    #[must_use]
    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Cores in slurmd's order, each with the position of its package.
    pub(super) fn cores(&self) -> &[(usize, Core)] {
        &self.cores
    }

    /// Every CPU of the machine.
    #[must_use]
    pub fn cpus(&self) -> &CpuSet {
        &self.cpus
    }

    /// CPUs that the kernel and the cgroup permit.
    #[must_use]
    pub fn allowed(&self) -> &CpuSet {
        &self.parts.allowed
    }

    /// Number of cores.
    #[must_use]
    pub fn core_count(&self) -> usize {
        self.cores.len()
    }

    /// Whether slurmd's division of this machine loses nothing: this number of cores, each with this
    /// number of hardware threads.
    #[must_use]
    pub fn has_cores_of(&self, threads: u32, count: u32) -> bool {
        let is_even = |(_, core): &(usize, Core)| core.pus.len() == threads as usize;
        self.cores.len() == count as usize && self.cores.iter().all(is_even)
    }

    /// Hardware threads of a core, in topology order; none if there is no such core.
    #[must_use]
    pub fn pus_of(&self, core: CoreIdx) -> &[CpuId] {
        self.cores
            .get(core.index())
            .map_or(&[], |(_, core)| &core.pus)
    }

    /// Cores by socket, in topology order; sockets without cores are skipped, and
    /// cores in no L3 cache (or NUMA node) form one more socket after the others.
    #[must_use]
    pub fn sockets(&self, kind: SocketKind) -> Vec<Vec<CoreIdx>> {
        let package = |core: usize| Some(self.cores[core].0);
        let domains = match kind {
            SocketKind::Package => {
                return self.group_cores(self.parts.packages.len(), package);
            }
            SocketKind::Numa => self.cpus_of_memory_domains(),
            SocketKind::L3 => self.parts.l3_caches.clone(),
        };
        let of_core = |core: usize| {
            let first = self.cores[core].1.pus.first()?;
            domains.iter().position(|cpus| cpus.contains(*first))
        };
        self.group_cores(domains.len(), of_core)
    }

    fn group_cores(
        &self,
        count: usize,
        socket_of: impl Fn(usize) -> Option<usize>,
    ) -> Vec<Vec<CoreIdx>> {
        let mut groups = vec![Vec::new(); count + 1];
        for core in 0..self.cores.len() {
            let at = socket_of(core).unwrap_or(count);
            groups[at].push(CoreIdx(core as u32));
        }
        groups.retain(|group| !group.is_empty());
        groups
    }

    /// The memory domains: the distinct non-empty local CPU sets, each under its
    /// lowest OS number, in OS order. The CPUs in no NUMA node form one more domain after
    /// the highest.
    ///
    /// Several nodes may share one set of CPUs (memory of a GPU, of two kinds).
    #[must_use]
    pub fn memory_domains(&self) -> Vec<(NumaId, CpuSet)> {
        let mut nodes: Vec<_> = self
            .parts
            .numa_nodes
            .iter()
            .map(|node| (node.id, node.cpus.intersection(&self.cpus)))
            .filter(|(_, cpus)| !cpus.is_empty())
            .collect();
        nodes.sort_by_key(|(id, _)| *id);
        let mut domains: Vec<(NumaId, CpuSet)> = Vec::new();
        let mut rest = self.cpus.clone();
        for (id, cpus) in nodes {
            rest = rest.difference(&cpus);
            if domains.iter().all(|(_, known)| *known != cpus) {
                domains.push((id, cpus));
            }
        }
        if !rest.is_empty() {
            let numbers = self.parts.numa_nodes.iter().map(|node| node.id.0);
            let after = numbers.max().map_or(0, |last| last.saturating_add(1));
            domains.push((NumaId(after), rest));
        }
        domains
    }

    /// The CPUs of each memory domain.
    pub(crate) fn cpus_of_memory_domains(&self) -> Vec<CpuSet> {
        let domains = self.memory_domains().into_iter();
        domains.map(|(_, cpus)| cpus).collect()
    }

    /// Every NUMA node, including those that have only memory.
    #[must_use]
    pub fn numa_nodes(&self) -> NodeSet {
        self.parts.numa_nodes.iter().map(|node| node.id).collect()
    }

    /// The CPUs of each NUMA node, as the kernel assigns them: every CPU is
    /// in at most one node. If nodes share CPUs (memory of two kinds), the one
    /// with the fewest CPUs counts, then the one with the lowest number.
    #[must_use]
    pub fn cpus_by_nearest_node(&self) -> Vec<(NumaId, CpuSet)> {
        let mut nodes: Vec<_> = self.parts.numa_nodes.iter().collect();
        nodes.sort_by_key(|node| (node.cpus.count(), node.id));
        let mut taken = CpuSet::new();
        nodes
            .into_iter()
            .map(|node| {
                let mine = node.cpus.difference(&taken);
                taken.insert_all(&mine);
                (node.id, mine)
            })
            .filter(|(_, cpus)| !cpus.is_empty())
            .collect()
    }

    /// The CPUs of each socket, in the order of [`Self::sockets`].
    pub(crate) fn cpus_of_sockets(&self, kind: SocketKind) -> Vec<CpuSet> {
        let cpus = |cores: &Vec<CoreIdx>| {
            let cpus = cores.iter().flat_map(|core| self.pus_of(*core));
            cpus.copied().collect()
        };
        self.sockets(kind).iter().map(cpus).collect()
    }

    /// The topology string of Grid Engine: `S` is a socket, `C` a core, and `T` a
    /// hardware thread if a core has several (`SCTTCTT`).
    #[must_use]
    pub fn topology_string(&self, kind: SocketKind) -> String {
        self.topology_in_use(kind, &CpuSet::new())
    }

    /// The topology string of Grid Engine with small letters for cores in use, and for a socket if all its cores are in
    /// use (`SCCSCcSCCscc`). One CPU in use stands for its core.
    #[must_use]
    pub fn topology_in_use(&self, kind: SocketKind, used: &CpuSet) -> String {
        let letter = |letter: char, small: bool| {
            if small {
                letter.to_ascii_lowercase()
            } else {
                letter
            }
        };
        let mut text = String::new();
        for cores in self.sockets(kind) {
            let in_use = |core: &CoreIdx| self.pus_of(*core).iter().any(|cpu| used.contains(*cpu));
            text.push(letter('S', cores.iter().all(in_use)));
            for core in cores {
                let small = in_use(&core);
                text.push(letter('C', small));
                let threads = Some(self.pus_of(core).len()).filter(|count| *count > 1);
                let t = letter('T', small);
                text.extend(std::iter::repeat_n(t, threads.unwrap_or(0)));
            }
        }
        text
    }
}

impl Machine {
    /// Kinds of cores, slowest first; empty if they are unknown.
    #[must_use]
    pub fn kinds(&self) -> &[CoreKind] {
        &self.parts().kinds
    }

    /// The kind of a CPU, as a position in [`Self::kinds`].
    #[must_use]
    pub fn kind_of(&self, cpu: CpuId) -> Option<usize> {
        self.kinds().iter().position(|kind| kind.cpus.contains(cpu))
    }

    /// CPUs that the kernel keeps free of ordinary work.
    #[must_use]
    pub fn isolated(&self) -> &CpuSet {
        &self.parts().isolated
    }

    /// CPUs that other software holds for itself by a cgroup outside of Slurm's.
    #[must_use]
    pub fn held(&self) -> &CpuSet {
        &self.parts().held
    }
}

impl Machine {
    /// Devices in PCI order, then those that are not on a PCI bus.
    #[must_use]
    pub fn devices(&self) -> &[Device] {
        &self.parts().devices
    }

    /// This machine with these devices and no others.
    ///
    /// # Errors
    /// [`crate::MachineError`] if there are more than a node can have.
    pub fn with_devices(&self, devices: Vec<Device>) -> Result<Self, crate::MachineError> {
        let mut parts = self.parts().clone();
        parts.devices = devices;
        Self::new(parts)
    }
}
