//! The CPUs that a cpuset can be chosen from, by NUMA node and core.
//! In: what the job owns, the CPUs that may be used of it. Out: what each NUMA node offers. Pure.

use crate::owned::Owned;
use crate::sets::cpuset::CpuSet;
use crate::sets::ids::CpuId;
use crate::topology::node::Node;

/// What can be chosen from.
pub(super) struct Candidates<'a> {
    pub(super) node: &'a Node,
    /// The most CPUs of a core that count: 1 where a CPU is a core.
    pub(super) limit: u32,
    /// Each NUMA node that offers something, in the order of their lowest CPUs.
    pub(super) offers: Vec<Offer>,
}

/// What one NUMA node offers.
pub(super) struct Offer {
    /// Its position among the node's distances.
    pub(super) at: usize,
    /// The candidates' CPUs, one core after the other.
    cpus: Vec<CpuId>,
    /// The cores, those that are free as a whole first, then by their lowest CPU.
    cores: Vec<Core>,
    /// Number of CPUs.
    pub(super) units: u32,
}

/// What a core offers.
#[derive(Clone, Copy)]
struct Core {
    from: usize,
    to: usize,
    /// Whether all of its CPUs are candidates.
    is_whole: bool,
}

impl<'a> Candidates<'a> {
    /// Those of `usable` that the job owns.
    pub(super) fn of(node: &'a Node, owned: &Owned, usable: &CpuSet, limit: Option<u32>) -> Self {
        let (table, distances) = (node.table(), node.distances());
        let limit = limit.unwrap_or(u32::MAX).max(1);
        let offer = |at| Offer::at(at, distances.node(at).map_or(0, |(_, cpus)| cpus.count()));
        let mut offers: Vec<Offer> = (0..distances.len()).map(offer).collect();
        let mut of_core: Vec<CpuId> = Vec::new();
        for pus in table.cores.iter() {
            of_core.clear();
            for pu in pus.iter().filter(|pu| owned.has(**pu)) {
                of_core.extend(table.cpu(*pu).filter(|cpu| usable.contains(*cpu)));
            }
            of_core.sort_unstable();
            let is_whole = of_core.len() == pus.len();
            // A core has all of its CPUs in one NUMA node, unless a file says otherwise.
            let place = |cpu: &CpuId| distances.of_cpu(*cpu);
            for cpus in of_core.chunk_by(|one, next| place(one) == place(next)) {
                if let Some(offer) = place(&cpus[0]).and_then(|at| offers.get_mut(at)) {
                    offer.add(cpus, is_whole, limit);
                }
            }
        }
        offers.retain(|offer| offer.units > 0);
        offers.iter_mut().for_each(Offer::sort);
        Self {
            node,
            limit,
            offers,
        }
    }

    /// All of them.
    pub(super) fn cpus(&self) -> CpuSet {
        let all = self.offers.iter().flat_map(|offer| &offer.cpus);
        all.copied().collect()
    }

    /// How far two offers are from each other.
    pub(super) fn radius(&self, one: usize, other: usize) -> u32 {
        let place = |at: usize| self.offers[at].at;
        self.node.distances().radius(place(one), place(other))
    }
}

impl Offer {
    /// Nothing yet, with room for some CPUs.
    fn at(at: usize, room: usize) -> Self {
        Self {
            at,
            cpus: Vec::with_capacity(room),
            cores: Vec::with_capacity(room),
            units: 0,
        }
    }

    fn add(&mut self, cpus: &[CpuId], is_whole: bool, limit: u32) {
        let from = self.cpus.len();
        self.cpus.extend(cpus);
        let to = self.cpus.len();
        self.cores.push(Core { from, to, is_whole });
        self.units += (cpus.len() as u32).min(limit);
    }

    fn sort(&mut self) {
        let cpus = &self.cpus;
        self.cores
            .sort_by_key(|core| (!core.is_whole, cpus[core.from]));
    }

    /// What each core offers, whole cores first: its CPUs.
    pub(super) fn cores(&self) -> impl DoubleEndedIterator<Item = &[CpuId]> + Clone {
        self.cores.iter().map(|core| &self.cpus[core.from..core.to])
    }

    /// Every CPU that it offers.
    pub(super) fn cpus(&self) -> &[CpuId] {
        &self.cpus
    }
}
