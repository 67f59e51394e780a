//! The objects of each kind: which CPUs every package, die, NUMA node, cache, core and thread has, and in which objects
//! each hardware thread lies. In: a machine. Out: sets of CPUs, and a row for each hardware thread, in hwloc's logical
//! order of the whole topology. Pure.
//!
//! Kinds nest as the machine has them, and not as their names suggest: a NUMA node may span
//! packages, an L3 cache may span NUMA nodes, and some CPUs are under no L3 cache.

use std::cmp::Reverse;

use crate::sets::cpuset::CpuSet;
use crate::sets::ids::CpuId;
use crate::topology::machine::{Machine, SocketKind};

pub use crate::request::cpu_bind::ObjectKind;

impl Machine {
    /// The CPUs of each object of a kind; none of them is empty. They stand in hwloc's logical
    /// order of the whole topology, memory domains in the kernel's order. The list is empty if the
    /// machine has no such object, or if none is known. Threads outside every package count as one
    /// more package, and a thread outside every core counts as a core.
    ///
    /// Cores and packages here may stand in another order than slurmd's, which
    /// [`Self::sockets`] and [`Self::pus_of`] have: CPU numbers tell which is which.
    #[must_use]
    pub fn objects(&self, kind: ObjectKind) -> Vec<CpuSet> {
        let parts = self.parts();
        match kind {
            ObjectKind::Numa => self.cpus_of_memory_domains(),
            ObjectKind::Die => self.existing(&parts.dies),
            ObjectKind::L2 => self.existing(&parts.l2_caches),
            ObjectKind::L1 => self.existing(&parts.l1_caches),
            ObjectKind::L3 => self.in_whole_order(self.existing(&parts.l3_caches)),
            ObjectKind::Package => self.in_whole_order(self.cpus_of_sockets(SocketKind::Package)),
            ObjectKind::Core => {
                let cores = self.cores().iter();
                let cpus = cores.map(|(_, core)| core.pus.iter().copied().collect());
                self.in_whole_order(cpus.collect())
            }
            ObjectKind::Pu => {
                let cpus = self.cores().iter().flat_map(|(_, core)| &core.pus);
                self.in_whole_order(cpus.map(|cpu| CpuSet::from_iter([*cpu])).collect())
            }
        }
    }

    /// The parts of these sets that the machine has.
    fn existing(&self, sets: &[CpuSet]) -> Vec<CpuSet> {
        let cut = sets.iter().map(|set| set.intersection(self.cpus()));
        cut.filter(|set| !set.is_empty()).collect()
    }

    /// Objects lie one after the other in the tree, so the first CPU of each tells their order.
    fn in_whole_order(&self, mut objects: Vec<CpuSet>) -> Vec<CpuSet> {
        let order = &self.parts().whole_order;
        let size = order.iter().max().map_or(0, |last| last.index() + 1);
        if size == 0 {
            return objects;
        }
        let mut places = vec![usize::MAX; size];
        for (place, cpu) in order.iter().enumerate() {
            places[cpu.index()] = place;
        }
        let place = |cpu: CpuId| places.get(cpu.index()).copied().unwrap_or(usize::MAX);
        objects.sort_by_cached_key(|cpus| cpus.iter().map(place).min());
        objects
    }
}

/// Which of some objects each CPU is in. Of objects that share CPUs the smallest counts, then the first.
pub(crate) struct ObjectOfCpu(Vec<Option<u32>>);

impl ObjectOfCpu {
    pub(crate) fn new<'a>(objects: impl IntoIterator<Item = &'a CpuSet>) -> Self {
        let mut order: Vec<_> = (0..).zip(objects).collect();
        // Of two objects with one CPU the one that is written last stays.
        order.sort_by_key(|(at, cpus)| Reverse((cpus.count(), *at)));
        let mut of_cpu = Vec::new();
        for (object, cpus) in order {
            for cpu in cpus.iter() {
                of_cpu.resize(of_cpu.len().max(cpu.index() + 1), None);
                of_cpu[cpu.index()] = Some(object);
            }
        }
        Self(of_cpu)
    }

    /// The position of the object of a CPU; `None` outside all of them.
    pub(crate) fn get(&self, cpu: CpuId) -> Option<u32> {
        self.0.get(cpu.index()).copied().flatten()
    }
}

/// The objects of every hardware thread.
#[derive(Clone, Debug)]
pub struct Places {
    /// Kernel numbers.
    cpus: Vec<CpuId>,
    /// For each kind the object of each of them, as a position in [`Machine::objects`].
    of: [Vec<Option<u32>>; KINDS],
    /// For each kind the number of its objects.
    counts: [u32; KINDS],
}

const KINDS: usize = ObjectKind::ALL.len();

impl Places {
    /// Where the threads of a machine lie. Of objects that share threads the smallest counts.
    #[must_use]
    pub fn of(machine: &Machine) -> Self {
        let threads = machine.objects(ObjectKind::Pu);
        let cpus: Vec<CpuId> = threads.iter().filter_map(|one| one.lowest()).collect();
        let mut counts = [0; KINDS];
        let of = ObjectKind::ALL.map(|kind| {
            let objects = machine.objects(kind);
            counts[kind as usize] = objects.len() as u32;
            let of_cpu = ObjectOfCpu::new(&objects);
            cpus.iter().map(|cpu| of_cpu.get(*cpu)).collect()
        });
        Self { cpus, of, counts }
    }

    /// Every hardware thread, in order.
    #[must_use]
    pub fn cpus(&self) -> &[CpuId] {
        &self.cpus
    }

    /// The object of a kind that a thread lies in, by the thread's place.
    #[must_use]
    pub fn object(&self, kind: ObjectKind, place: usize) -> Option<u32> {
        self.of[kind as usize].get(place).copied().flatten()
    }

    /// How many objects of a kind the machine has.
    #[must_use]
    pub fn count(&self, kind: ObjectKind) -> u32 {
        self.counts[kind as usize]
    }
}
