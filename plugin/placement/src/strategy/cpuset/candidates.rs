//! The CPUs that a cpuset can be chosen from, by NUMA node and core, and first fit (`cpuset_best=off`): the first free
//! ones in the list's or numerical order. In: what the job owns, the CPUs that may be used of it. Out: what each NUMA
//! node offers; CPUs, or the most that could be had. Pure.

use crate::owned::Owned;
use crate::sets::cpuset::CpuSet;
use crate::sets::ids::CpuId;
use crate::topology::node::Node;

/// The CPUs that can be chosen.
pub(super) struct Candidates<'a> {
    pub(super) node: &'a Node,
    /// The most CPUs of a core that count: 1 where a CPU is a core.
    pub(super) limit: u32,
    /// Each NUMA node that offers something, in the order of their lowest CPUs.
    pub(super) offers: Vec<Offer>,
}

/// The CPUs that one NUMA node offers.
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

/// The CPUs that a core offers.
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

    /// The CPUs that each core offers, whole cores first.
    pub(super) fn cores(&self) -> impl DoubleEndedIterator<Item = &[CpuId]> + Clone {
        self.cores.iter().map(|core| &self.cpus[core.from..core.to])
    }

    /// Every CPU that it offers.
    pub(super) fn cpus(&self) -> &[CpuId] {
        &self.cpus
    }
}

/// The first `needed` CPUs of an order, with at most `per_node` in one NUMA node. Every NUMA node that is
/// used is used whole if `whole`. The error is the most CPUs that one cpuset could have.
pub(super) fn first_fit(
    candidates: &Candidates<'_>,
    order: impl Iterator<Item = CpuId>,
    needed: u32,
    per_node: Option<u32>,
    whole: bool,
) -> Result<Vec<CpuId>, u32> {
    let mut taking = Taking::new(candidates, per_node.unwrap_or(u32::MAX), whole);
    for cpu in order {
        if taking.count >= needed {
            break;
        }
        taking.take(cpu);
    }
    match taking.count >= needed && needed > 0 {
        true => Ok(taking.taken),
        false => Err(taking.count),
    }
}

/// One choice under way.
struct Taking<'a> {
    candidates: &'a Candidates<'a>,
    per_node: u32,
    whole: bool,
    /// The cores of all offers.
    cores: Vec<OfferedCore<'a>>,
    /// The core of each candidate CPU that is not taken, by kernel number.
    places: Vec<Option<u32>>,
    /// CPUs that are taken of each offer.
    of_offer: Vec<u32>,
    taken: Vec<CpuId>,
    count: u32,
}

/// A core with candidates.
struct OfferedCore<'a> {
    cpus: &'a [CpuId],
    offer: usize,
    /// CPUs that are taken of it.
    taken: u32,
}

impl<'a> Taking<'a> {
    fn new(candidates: &'a Candidates<'a>, per_node: u32, whole: bool) -> Self {
        let offers = &candidates.offers;
        let count = offers.iter().map(|offer| offer.cpus().len()).sum();
        let highest = offers.iter().flat_map(Offer::cpus).max();
        let mut cores = Vec::with_capacity(count);
        let mut places = vec![None; highest.map_or(0, |cpu| cpu.index() + 1)];
        for (offer, cpus) in (0..)
            .zip(offers)
            .flat_map(|(at, offer)| offer.cores().map(move |cpus| (at, cpus)))
        {
            let place = cores.len() as u32;
            cpus.iter()
                .for_each(|cpu| places[cpu.index()] = Some(place));
            cores.push(OfferedCore {
                cpus,
                offer,
                taken: 0,
            });
        }
        Self {
            candidates,
            per_node,
            whole,
            cores,
            places,
            of_offer: vec![0; offers.len()],
            taken: Vec::with_capacity(count),
            count: 0,
        }
    }

    /// Takes a CPU, with its core where a CPU is a core, with its NUMA node where these are whole.
    fn take(&mut self, cpu: CpuId) {
        let Some(place) = self.places.get(cpu.index()).copied().flatten() else {
            return;
        };
        let core = &mut self.cores[place as usize];
        let limit = self.candidates.limit;
        let of_offer = &mut self.of_offer[core.offer];
        if self.whole {
            if *of_offer == 0 {
                let offer = &self.candidates.offers[core.offer];
                *of_offer = offer.units;
                self.count += offer.units;
                self.taken.extend(offer.cpus());
            }
            return;
        }
        if *of_offer >= self.per_node || core.taken >= limit {
            return;
        }
        *of_offer += 1;
        core.taken += 1;
        self.count += 1;
        let alone = [cpu];
        let taken = if limit == 1 { core.cpus } else { &alone };
        // A list may name a CPU twice.
        taken.iter().for_each(|cpu| self.places[cpu.index()] = None);
        self.taken.extend(taken);
    }
}
