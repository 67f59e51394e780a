//! First fit (`cpuset_best=off`): the first free candidates in the list's or numerical order.
//! In: the candidates, an order of CPUs, the number. Out: CPUs, or the most that could be had. Pure.

use crate::sets::cpuset::CpuSet;
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
    /// The offer and the core of each candidate CPU, by kernel number.
    places: Vec<Option<(u32, u32)>>,
    /// CPUs that are taken of each core, over all offers.
    of_core: Vec<u32>,
    /// CPUs that are taken of each offer.
    of_offer: Vec<u32>,
    taken: Vec<CpuId>,
    /// Those of them that are in no list of theirs twice.
    done: CpuSet,
    count: u32,
}

impl<'a> Taking<'a> {
    fn new(candidates: &'a Candidates<'a>, per_node: u32, whole: bool) -> Self {
        let mut places = Vec::new();
        let mut core = 0;
        for (at, offer) in (0..).zip(&candidates.offers) {
            for cpus in offer.cores() {
                for cpu in cpus {
                    places.resize(places.len().max(cpu.index() + 1), None);
                    places[cpu.index()] = Some((at, core));
                }
                core += 1;
            }
        }
        Self {
            candidates,
            per_node,
            whole,
            places,
            of_core: vec![0; core as usize],
            of_offer: vec![0; candidates.offers.len()],
            taken: Vec::new(),
            done: CpuSet::new(),
            count: 0,
        }
    }

    /// Takes a CPU, with its core where a CPU is a core, with its NUMA node where these are whole.
    fn take(&mut self, cpu: CpuId) {
        let Some((at, core)) = self.places.get(cpu.index()).copied().flatten() else {
            return;
        };
        let offer = &self.candidates.offers[at as usize];
        let limit = self.candidates.limit;
        let of_offer = &mut self.of_offer[at as usize];
        let of_core = &mut self.of_core[core as usize];
        match self.whole {
            true if *of_offer > 0 => {}
            true => {
                *of_offer = offer.units;
                self.count += offer.units;
                self.taken.extend(offer.cpus());
            }
            false if self.done.contains(cpu) || *of_offer >= self.per_node => {}
            false if *of_core >= limit => {}
            false => {
                *of_offer += 1;
                *of_core += 1;
                self.count += 1;
                let around = if limit == 1 { core_of(offer, cpu) } else { &[] };
                match around.is_empty() {
                    true => self.add(&[cpu]),
                    false => self.add(around),
                }
            }
        }
    }

    fn add(&mut self, cpus: &[CpuId]) {
        cpus.iter().for_each(|cpu| self.done.insert(*cpu));
        self.taken.extend(cpus);
    }
}

/// The candidates of a CPU's core.
fn core_of(offer: &Offer, cpu: CpuId) -> &[CpuId] {
    let mut cores = offer.cores();
    cores.find(|cpus| cpus.contains(&cpu)).unwrap_or(&[])
}
