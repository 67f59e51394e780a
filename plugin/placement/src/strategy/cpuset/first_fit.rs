//! First fit (`cpuset_best=off`): the first free candidates in the list's or numerical order.
//! In: the candidates, an order of CPUs, the number. Out: CPUs, or the most that could be had. Pure.

use crate::sets::ids::CpuId;
use crate::strategy::cpuset::candidates::{Candidates, Offer};

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
    cores: Vec<Core<'a>>,
    /// The core of each candidate CPU that is not taken, by kernel number.
    places: Vec<Option<u32>>,
    /// CPUs that are taken of each offer.
    of_offer: Vec<u32>,
    taken: Vec<CpuId>,
    count: u32,
}

/// A core with candidates.
struct Core<'a> {
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
            cores.push(Core {
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
