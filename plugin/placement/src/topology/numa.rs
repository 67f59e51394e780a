//! NUMA nodes: which CPUs are near the same memory (ldoms), and how far CPUs are from each other.
//! In: a machine, or the table of hardware threads where no machine is known. Out: [`Ldoms`], [`Distances`]. Pure.
//!
//! The radius is 0 inside a NUMA node. The machine's distinct NUMA distances in rising order are 1, 2
//! and so on; of two unequal distances of a pair the larger counts. Without a distance matrix 1 is
//! the package and 2 the machine.

use crate::request::cpu_bind::ObjectKind;
use crate::sets::cpuset::CpuSet;
use crate::sets::ids::{CpuId, NumaId};
use crate::topology::domains::Domains;
use crate::topology::machine::Machine;
use crate::topology::objects::ObjectOfCpu;
use crate::topology::pu_table::PuTable;

/// The domains of a node, in the order of their lowest kernel number.
#[derive(Clone, Debug)]
pub struct Ldoms {
    list: Vec<(NumaId, CpuSet)>,
    /// The hardware threads of each domain; a thread in nested domains belongs to the smallest.
    domains: Domains,
}

impl Ldoms {
    pub(crate) fn of(machine: &Machine, table: &PuTable) -> Self {
        let list = machine.memory_domains();
        let of_cpu = ObjectOfCpu::new(list.iter().map(|(_, cpus)| cpus));
        let domain = |pu| table.cpu(pu).and_then(|cpu| of_cpu.get(cpu));
        let of_pu = table
            .pus()
            .map(|pu| domain(pu).unwrap_or(list.len() as u32));
        let domains = Domains::of_each(of_pu.collect());
        Self { list, domains }
    }

    /// The kernel's number of each domain, and its CPUs.
    #[must_use]
    pub fn list(&self) -> &[(NumaId, CpuSet)] {
        &self.list
    }

    /// The hardware threads of each domain. Those in no domain form one more, without CPUs.
    pub(crate) fn domains(&self) -> &Domains {
        &self.domains
    }

    /// Some CPUs, grown to their whole domains.
    pub(crate) fn around(&self, cpus: &CpuSet) -> CpuSet {
        let mut wide = cpus.clone();
        for cpu in cpus.iter() {
            let around = self.list.iter().filter(|(_, domain)| domain.contains(cpu));
            if let Some((_, domain)) = around.min_by_key(|(_, domain)| domain.count()) {
                wide.insert_all(domain);
            }
        }
        wide
    }

    /// The CPUs of a domain, also those that other steps own; none if there is no such domain.
    pub(crate) fn cpus(&self, domain: u32) -> CpuSet {
        let found = self.list.get(domain as usize);
        found.map(|(_, cpus)| cpus.clone()).unwrap_or_default()
    }
}

/// NUMA nodes with CPUs, and how far they are from each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distances {
    /// In the order of their lowest CPUs. Each CPU is in one of them.
    nodes: Vec<(Option<NumaId>, CpuSet)>,
    /// The position of each CPU's node, by kernel number.
    of_cpu: Vec<usize>,
    /// The radius of each two nodes, row by row.
    radii: Vec<u32>,
}

/// The position of CPUs that are in no node.
const NOWHERE: usize = usize::MAX;

/// A distance that is not known is longer than any other.
const UNKNOWN: u32 = u32::MAX;

impl Distances {
    pub(crate) fn of(machine: Option<&Machine>, table: &PuTable) -> Self {
        match machine {
            Some(machine) => Self::of_machine(machine),
            None => {
                let cpus = |pus: &[_]| table.cpus(pus.iter().copied());
                let sockets: Vec<_> = table.sockets.iter().map(cpus).collect();
                let nodes = sockets.iter().map(|cpus| (None, cpus.clone()));
                Self::new(nodes.collect(), |nodes| by_package(nodes, &sockets))
            }
        }
    }

    fn of_machine(machine: &Machine) -> Self {
        let near = machine.cpus_by_nearest_node().into_iter();
        let cut = near.map(|(id, cpus)| (Some(id), cpus.intersection(machine.cpus())));
        let mut nodes: Vec<_> = cut.filter(|(_, cpus)| !cpus.is_empty()).collect();
        let mut outside = machine.cpus().clone();
        for (_, cpus) in &nodes {
            outside = outside.difference(cpus);
        }
        nodes.push((None, outside));
        let parts = machine.parts();
        Self::new(nodes, |nodes| match parts.numa_distances.is_empty() {
            true => by_package(nodes, &machine.objects(ObjectKind::Package)),
            false => by_matrix(nodes, machine),
        })
    }

    fn new(
        mut nodes: Vec<(Option<NumaId>, CpuSet)>,
        radii: impl FnOnce(&[(Option<NumaId>, CpuSet)]) -> Vec<u32>,
    ) -> Self {
        nodes.retain(|(_, cpus)| !cpus.is_empty());
        nodes.sort_by_key(|(_, cpus)| cpus.lowest());
        let mut of_cpu = Vec::new();
        for (at, (_, cpus)) in nodes.iter().enumerate() {
            for cpu in cpus.iter() {
                let size = of_cpu.len().max(cpu.index() + 1);
                of_cpu.resize(size, NOWHERE);
                of_cpu[cpu.index()] = at;
            }
        }
        Self {
            radii: radii(&nodes),
            nodes,
            of_cpu,
        }
    }

    /// Number of NUMA nodes with CPUs. CPUs in no node form one more.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no CPU.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// A node's number and CPUs, by its position; CPUs in no node have no number.
    #[must_use]
    pub fn node(&self, at: usize) -> Option<(Option<NumaId>, &CpuSet)> {
        self.nodes.get(at).map(|(id, cpus)| (*id, cpus))
    }

    /// The position of a CPU's node.
    #[must_use]
    pub fn of_cpu(&self, cpu: CpuId) -> Option<usize> {
        let at = self.of_cpu.get(cpu.index()).copied();
        at.filter(|at| *at != NOWHERE)
    }

    /// How far two nodes are from each other.
    #[must_use]
    pub fn radius(&self, one: usize, other: usize) -> u32 {
        let found = self.radii.get(one * self.nodes.len() + other);
        found.copied().unwrap_or(0)
    }

    /// The largest distance between two CPUs of a set.
    #[must_use]
    pub fn radius_of(&self, cpus: &CpuSet) -> u32 {
        let has = |at: &usize| self.nodes[*at].1.intersects(cpus);
        let used: Vec<_> = (0..self.nodes.len()).filter(has).collect();
        let pairs = used
            .iter()
            .flat_map(|one| used.iter().map(|other| self.radius(*one, *other)));
        pairs.max().unwrap_or(0)
    }

    /// The largest distance on the node.
    #[must_use]
    pub fn largest(&self) -> u32 {
        self.radii.iter().copied().max().unwrap_or(0)
    }
}

/// Each two nodes' value; a node and itself have 0.
fn each_pair(count: usize, value: impl Fn(usize, usize) -> u32) -> Vec<u32> {
    let value = &value;
    let row =
        |one: usize| (0..count).map(move |other| if one == other { 0 } else { value(one, other) });
    (0..count).flat_map(row).collect()
}

fn by_package(nodes: &[(Option<NumaId>, CpuSet)], packages: &[CpuSet]) -> Vec<u32> {
    let package = |at: usize| {
        let first = nodes[at].1.lowest()?;
        packages.iter().position(|cpus| cpus.contains(first))
    };
    let of: Vec<_> = (0..nodes.len()).map(package).collect();
    each_pair(nodes.len(), |one, other| match of[one] == of[other] {
        true => 1,
        false => 2,
    })
}

fn by_matrix(nodes: &[(Option<NumaId>, CpuSet)], machine: &Machine) -> Vec<u32> {
    let parts = machine.parts();
    let row = |at: usize| {
        let id = nodes[at].0?;
        parts.numa_nodes.iter().position(|node| node.id == id)
    };
    let rows: Vec<_> = (0..nodes.len()).map(row).collect();
    let entry = |one: Option<usize>, other: Option<usize>| {
        let found = parts.numa_distances.get(one?)?.get(other?);
        // 0 stands for a distance that the machine does not know.
        found.copied().filter(|distance| *distance > 0)
    };
    let far = |one: usize, other: usize| {
        let both = [entry(rows[one], rows[other]), entry(rows[other], rows[one])];
        both.into_iter().flatten().max().unwrap_or(UNKNOWN)
    };
    let distances = each_pair(nodes.len(), far);
    let mut distinct = distances.clone();
    distinct.sort_unstable();
    distinct.dedup();
    // The 0 of a node and itself is always the first of them.
    let class = |distance: &u32| distinct.partition_point(|known| known < distance) as u32;
    distances.iter().map(class).collect()
}
