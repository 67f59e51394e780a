//! The cores that `--binding=auto` divides: those that the step owns and others have not taken; those of pools if
//! need be.
//! In: what the step owns, what others are bound to, the hardware threads to use. Out: [`Free`]. Pure.

use std::ops::Range;

use crate::answer::cores::ChosenCore;
use crate::request::grid_engine::Place;
use crate::sets::cpuset::CpuSet;
use crate::sets::ids::PuIdx;
use crate::strategy::share::split::Row;
use crate::strategy::situation::Situation;

/// A core, with the hardware threads that tasks may use.
struct FreeCore {
    place: Place,
    gap: u8,
    pus: Range<usize>,
}

/// Cores, neighbours beside each other.
pub(super) struct Free {
    cores: Vec<FreeCore>,
    pus: Vec<PuIdx>,
    layers: usize,
}

impl Free {
    /// At most `limit` hardware threads of each core are used. Isolated CPUs are used only where the
    /// step has no others.
    pub(super) fn of(here: &Situation<'_>, limit: Option<u32>) -> Self {
        let isolated = isolated(here);
        let taken = &here.claims.taken;
        let free = Self::without(here, limit, (taken, isolated));
        match (isolated, free.cores.is_empty()) {
            (Some(_), true) => Self::without(here, limit, (taken, None)),
            _ => free,
        }
    }

    /// The free cores without those of pools; nothing if no pool has CPUs of the step, or if no other core is free.
    /// Isolated CPUs do not take their place.
    pub(super) fn beside_pools(here: &Situation<'_>, limit: Option<u32>) -> Option<Self> {
        if !here.claims.pools.intersects(&here.owned.cpus) {
            return None;
        }
        let mut taken = here.claims.taken.clone();
        taken.insert_all(&here.claims.pools);
        let free = Self::without(here, limit, (&taken, isolated(here)));
        (!free.cores.is_empty()).then_some(free)
    }

    fn without(
        here: &Situation<'_>,
        limit: Option<u32>,
        (taken, kept): (&CpuSet, Option<&CpuSet>),
    ) -> Self {
        let (nest, table) = (here.node.nest(), here.node.table());
        let taken = Some(taken).filter(|taken| !taken.is_empty());
        let limit = limit.map_or(usize::MAX, |limit| limit as usize);
        let layers = nest.layers().len();
        let mut free = Self {
            cores: Vec::with_capacity(nest.cores().len()),
            pus: Vec::with_capacity(table.len()),
            layers,
        };
        // The widest gap since the core before.
        let mut gap = layers as u8;
        for core in nest.cores() {
            gap = gap.min(core.gap);
            let members = table.cores.members(core.index);
            let is_in = |set: Option<&CpuSet>, pu: &PuIdx| {
                set.is_some_and(|set| table.cpu(*pu).is_some_and(|cpu| set.contains(cpu)))
            };
            if members.iter().any(|pu| is_in(taken, pu)) {
                continue;
            }
            let first = free.pus.len();
            let usable = here.owned.among(members).filter(|pu| !is_in(kept, pu));
            free.pus.extend(usable.take(limit));
            if free.pus.len() > first {
                free.cores.push(FreeCore {
                    place: core.place,
                    gap,
                    pus: first..free.pus.len(),
                });
                gap = layers as u8;
            }
        }
        free
    }

    pub(super) fn core_count(&self) -> usize {
        self.cores.len()
    }

    pub(super) fn thread_count(&self) -> usize {
        self.pus.len()
    }

    /// The cores as a row to divide.
    pub(super) fn row_of_cores(&self) -> Row {
        let gaps: Vec<_> = self.cores.iter().map(|core| core.gap).collect();
        Row::new(&gaps, self.layers)
    }

    /// Their hardware threads as a row; there the cores are a layer too.
    pub(super) fn row_of_threads(&self) -> Row {
        let within = self.layers as u8 + 1;
        let gaps = self.cores.iter().flat_map(|core| {
            let others = core.pus.len().saturating_sub(1);
            std::iter::once(core.gap).chain(std::iter::repeat_n(within, others))
        });
        Row::new(&gaps.collect::<Vec<_>>(), self.layers + 1)
    }

    /// The hardware threads of the core at a position.
    pub(super) fn threads_of(&self, core: usize) -> usize {
        self.cores.get(core).map_or(0, |core| core.pus.len())
    }

    /// Whether an object of a layer begins at a core.
    pub(super) fn begins(&self, core: usize, layer: usize) -> bool {
        let gap = self.cores.get(core).map(|core| core.gap);
        gap.is_none_or(|gap| usize::from(gap) <= layer)
    }

    pub(super) fn layer_count(&self) -> usize {
        self.layers
    }

    /// Whole cores as a task gets them.
    pub(super) fn cores<'a>(
        &'a self,
        here: &'a Situation<'_>,
        run: Range<usize>,
    ) -> impl Iterator<Item = ChosenCore> + 'a {
        let cores = self.cores.get(run).unwrap_or_default().iter();
        cores.map(|core| self.chosen(here, core, core.pus.clone()))
    }

    /// Some hardware threads as a task gets them.
    pub(super) fn threads<'a>(
        &'a self,
        here: &'a Situation<'_>,
        run: Range<usize>,
    ) -> impl Iterator<Item = ChosenCore> + 'a {
        let first = self.cores.partition_point(|core| core.pus.end <= run.start);
        let cores = self.cores.get(first..).unwrap_or_default().iter();
        let Range { start, end } = run;
        cores
            .take_while(move |core| core.pus.start < end)
            .map(move |core| {
                let own = core.pus.start.max(start)..core.pus.end.min(end);
                self.chosen(here, core, own)
            })
    }

    fn chosen(&self, here: &Situation<'_>, core: &FreeCore, pus: Range<usize>) -> ChosenCore {
        let pus = self.pus.get(pus).unwrap_or_default();
        ChosenCore {
            place: core.place,
            cpus: here.node.table().cpus_of(pus),
        }
    }
}

/// CPUs that the kernel isolates.
fn isolated<'a>(here: &Situation<'a>) -> Option<&'a CpuSet> {
    let isolated = here.node.machine().map(|machine| machine.isolated());
    isolated.filter(|isolated| !isolated.is_empty())
}
