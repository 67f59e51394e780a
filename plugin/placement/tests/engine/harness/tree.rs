//! What is true of a machine and of a step on it, read from the tree alone: the engine is not asked.

use std::sync::Arc;

use berth_placement::{Allocation, CpuId, CpuSet, Machine, ObjectKind, SocketKind};

/// A machine as laws look at it.
pub struct Tree {
    pub machine: Arc<Machine>,
    pub kind: SocketKind,
    /// Every core in slurmd's order: logical order, grouped by what slurmd calls a socket.
    pub cores: Vec<TreeCore>,
    pub socket_count: usize,
}

pub struct TreeCore {
    pub socket: usize,
    /// Its number within its socket.
    pub number: usize,
    /// Its hardware threads, in topology order.
    pub pus: Vec<CpuId>,
}

/// What a step owns of a machine.
pub struct Owned {
    pub cpus: CpuSet,
    /// The cores that it owns something of, in slurmd's order.
    pub cores: Vec<OwnedCore>,
}

pub struct OwnedCore {
    /// Position in slurmd's order.
    pub at: usize,
    pub socket: usize,
    /// The owned hardware threads, in topology order.
    pub pus: Vec<CpuId>,
    pub cpus: CpuSet,
    /// Whether it has no other hardware thread.
    pub whole: bool,
}

impl Tree {
    pub fn new(machine: impl Into<Arc<Machine>>, kind: SocketKind) -> Self {
        let machine = machine.into();
        let mut cores = Vec::new();
        let sockets = machine.sockets(kind);
        for (socket, indexes) in sockets.iter().enumerate() {
            cores.extend(indexes.iter().enumerate().map(|(number, core)| TreeCore {
                socket,
                number,
                pus: machine.pus_of(*core).to_vec(),
            }));
        }
        Self {
            socket_count: sockets.len(),
            machine,
            kind,
            cores,
        }
    }

    /// CPUs that a task may run on at all. What slurmd itself is permitted says nothing of a
    /// step that owns cores: with specialised cores it keeps to those, and the steps to the others.
    pub fn present(&self, own: &Allocation) -> CpuSet {
        match own {
            Allocation::Whole => self.machine.cpus().intersection(self.machine.allowed()),
            Allocation::Cores { .. } | Allocation::Cpus(_) => self.machine.cpus().clone(),
        }
    }

    /// The number of cores that slurmd tells slurmctld: equal sockets, by division.
    pub fn counted_cores(&self) -> u32 {
        let sockets = self.socket_count;
        ((self.cores.len() / sockets).max(1) * sockets) as u32
    }

    pub fn owned(&self, own: &Allocation) -> Owned {
        let cpus = match own {
            Allocation::Whole => self.present(own),
            Allocation::Cpus(cpus) => cpus.intersection(&self.present(own)),
            Allocation::Cores { cores, .. } => {
                // Numbers beyond the machine begin again.
                let at = |core: u32| core as usize % self.cores.len();
                let pus = cores.iter().flat_map(|core| &self.cores[at(core.0)].pus);
                let all: CpuSet = pus.copied().collect();
                all.intersection(&self.present(own))
            }
        };
        let core = |(at, core): (usize, &TreeCore)| {
            let own = |cpu: &&CpuId| cpus.contains(**cpu);
            let pus: Vec<CpuId> = core.pus.iter().filter(own).copied().collect();
            OwnedCore {
                at,
                socket: core.socket,
                cpus: pus.iter().copied().collect(),
                whole: pus.len() == core.pus.len(),
                pus,
            }
        };
        let cores = self.cores.iter().enumerate().map(core);
        let cores = cores.filter(|core| !core.pus.is_empty()).collect();
        Owned { cpus, cores }
    }

    /// CPUs by the memory domain that is theirs: of nested ones the smallest.
    pub fn memory_classes(&self) -> Vec<CpuSet> {
        let domains = self.machine.memory_domains();
        let mut classes: Vec<(usize, CpuSet)> = Vec::new();
        for cpu in self.machine.cpus().iter() {
            let around = (0..domains.len()).filter(|at| domains[*at].1.contains(cpu));
            let Some(nearest) = around.min_by_key(|at| domains[*at].1.count()) else {
                continue;
            };
            match classes.iter_mut().find(|(at, _)| *at == nearest) {
                Some((_, cpus)) => cpus.insert(cpu),
                None => classes.push((nearest, std::iter::once(cpu).collect())),
            }
        }
        classes.into_iter().map(|(_, cpus)| cpus).collect()
    }
}

/// Everything that can be around a GPU, and the whole machine.
pub fn objects(machine: &Machine) -> Vec<CpuSet> {
    let mut all = machine.parts().l3_caches.clone();
    all.extend(machine.memory_domains().into_iter().map(|(_, cpus)| cpus));
    all.extend(machine.objects(ObjectKind::Package));
    all.push(machine.cpus().clone());
    all.retain(|cpus| !cpus.is_empty());
    all
}

impl Owned {
    pub fn count(&self) -> usize {
        self.cpus.count()
    }

    /// The cores of each socket that has any.
    pub fn by_socket(&self) -> Vec<Vec<&OwnedCore>> {
        let last = self.cores.iter().map(|core| core.socket).max().unwrap_or(0);
        let of = |socket| self.cores.iter().filter(move |core| core.socket == socket);
        let all = (0..=last).map(|socket| of(socket).collect::<Vec<_>>());
        all.filter(|cores| !cores.is_empty()).collect()
    }

    /// The CPUs of each socket that has any.
    pub fn sockets(&self) -> Vec<CpuSet> {
        let cpus =
            |cores: Vec<&OwnedCore>| cores.iter().flat_map(|core| core.cpus.iter()).collect();
        self.by_socket().into_iter().map(cpus).collect()
    }

    /// The most cores that a task of so many CPUs can need for itself; none where the step has
    /// too few CPUs.
    pub fn cores_needed(&self, cpus_per_task: u32, one_by_one: bool) -> Option<usize> {
        if one_by_one {
            return Some(cpus_per_task as usize);
        }
        let mut sizes: Vec<usize> = self.cores.iter().map(|core| core.pus.len()).collect();
        sizes.sort_unstable();
        let mut sum = 0;
        let enough = |size: &usize| {
            sum += size;
            sum >= cpus_per_task as usize
        };
        sizes.iter().position(enough).map(|last| last + 1)
    }
}
