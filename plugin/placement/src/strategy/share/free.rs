//! The cores that `--binding=auto` divides: those that the step owns and others have not taken, and those of pools if
//! need be; and how much of its share each task takes beside `-c N`.
//! In: what the step owns, what others are bound to, the hardware threads to use; each task's share, N. Out: [`Free`];
//! each task's cores as a run, or the share that is too small. Pure.

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
        let isolated = here.node.isolated();
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
        let free = Self::without(here, limit, (&taken, here.node.isolated()));
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
            let is_in =
                |set: Option<&CpuSet>, pu: &PuIdx| set.is_some_and(|set| table.is_in(*pu, set));
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
    fn threads_of(&self, core: usize) -> usize {
        self.cores.get(core).map_or(0, |core| core.pus.len())
    }

    /// Whether an object of a layer begins at a core.
    pub(super) fn begins(&self, core: usize, layer: usize) -> bool {
        let gap = self.cores.get(core).map(|core| core.gap);
        gap.is_none_or(|gap| usize::from(gap) <= layer)
    }

    fn layer_count(&self) -> usize {
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

/// Why a share cannot be served.
pub(super) enum Obstacle {
    /// Others have taken all of the step's cores.
    NothingFree,
    /// `-c` is larger than a task's share.
    TooSmall {
        /// CPUs of the smallest share.
        smallest: usize,
        /// Free cores.
        cores: usize,
        /// Their CPUs.
        threads: usize,
    },
}

/// The smallest share has fewer CPUs than `-c`.
pub(super) fn too_small(free: &Free, smallest: usize) -> Obstacle {
    Obstacle::TooSmall {
        smallest,
        cores: free.core_count(),
        threads: free.thread_count(),
    }
}

/// N CPUs' worth of cores from the beginning of each share; the rest stays idle. With `each` of 1 the
/// whole share, because Slurm does not tell a `-c 1` from none.
pub(super) fn from_beginning(
    free: &Free,
    mut shares: Vec<Range<usize>>,
    each: usize,
) -> Result<Vec<Range<usize>>, Obstacle> {
    if each <= 1 {
        return Ok(shares);
    }
    let smallest = shares.iter().map(|share| cpus(free, share)).min();
    let smallest = smallest.unwrap_or(0);
    if smallest < each {
        return Err(too_small(free, smallest));
    }
    for share in &mut shares {
        share.end = end_of(free, share.clone(), each).unwrap_or(share.end);
    }
    Ok(shares)
}

/// N CPUs' worth of cores for each task, one task after the other. A task that would not fit into
/// what is left of an object begins with the next object, where all tasks have room so; the narrowest
/// layer for which they do counts.
pub(super) fn packed(
    free: &Free,
    tasks: usize,
    each: usize,
) -> Result<Vec<Range<usize>>, Obstacle> {
    let narrow_first = (0..free.layer_count()).rev().map(Some);
    let mut layers = narrow_first.chain([None]);
    let found = layers.find_map(|layer| packed_within(free, (tasks, each), layer));
    // Even shares are no larger than such runs, so the smallest of them says what is missing.
    let smallest = || {
        let shares = free.row_of_cores().split(tasks);
        shares.iter().map(|share| cpus(free, share)).min()
    };
    found.ok_or_else(|| too_small(free, smallest().unwrap_or(0)))
}

fn cpus(free: &Free, share: &Range<usize>) -> usize {
    share.clone().map(|core| free.threads_of(core)).sum()
}

fn packed_within(
    free: &Free,
    (tasks, each): (usize, usize),
    layer: Option<usize>,
) -> Option<Vec<Range<usize>>> {
    let last = free.core_count();
    let object_end = |from: usize| match layer {
        None => last,
        Some(layer) => {
            let mut after = from + 1..last;
            after.find(|core| free.begins(*core, layer)).unwrap_or(last)
        }
    };
    let mut runs = Vec::with_capacity(tasks);
    let (mut at, mut end) = (0, object_end(0));
    while runs.len() < tasks {
        if at >= last {
            return None;
        }
        match end_of(free, at..end, each) {
            Some(run_end) => {
                runs.push(at..run_end);
                at = run_end;
            }
            None => at = end,
        }
        if at >= end {
            end = object_end(at);
        }
    }
    Some(runs)
}

/// Where a run of cores with so many CPUs ends; none if there are fewer.
fn end_of(free: &Free, within: Range<usize>, each: usize) -> Option<usize> {
    let mut cpus = 0;
    for core in within {
        cpus += free.threads_of(core);
        if cpus >= each {
            return Some(core + 1);
        }
    }
    None
}
