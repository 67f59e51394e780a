//! How near each usable core is to each task's devices, in rings: next to a device (ring 0), then the
//! next larger object around its place, and so on outward.
//! In: the situation, each task's devices. Out: the usable cores, and tasks grouped by their rings.
//! Pure.

use std::ops::Range;

use crate::owned::reserved_cpus;
use crate::sets::ids::PuIdx;
use crate::strategy::near::devices::Devices;
use crate::strategy::situation::Situation;
use crate::topology::surroundings::Surroundings;

/// Cores: each one's hardware threads that tasks may use, in order; there is at least one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cores {
    /// One core's after the other's.
    pus: Vec<PuIdx>,
    /// Where each core's end.
    ends: Vec<usize>,
}

impl Cores {
    /// Adds a core, unless it has no hardware thread.
    fn push(&mut self, pus: impl Iterator<Item = PuIdx>) {
        let before = self.pus.len();
        self.pus.extend(pus);
        if self.pus.len() > before {
            self.ends.push(self.pus.len());
        }
    }

    /// Adds successive cores of others.
    pub(super) fn extend(&mut self, others: &Self, cores: Range<usize>) {
        let own = others.range(cores.clone());
        let before = self.pus.len();
        let ends = others.ends[cores].iter();
        self.ends.extend(ends.map(|end| end - own.start + before));
        self.pus.extend_from_slice(&others.pus[own]);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The number of cores.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The hardware threads of all of them.
    pub(super) fn pus(&self) -> &[PuIdx] {
        &self.pus
    }

    /// The hardware threads of the core that has most.
    pub(super) fn widest(&self) -> u32 {
        let mut start = 0;
        let threads = self
            .ends
            .iter()
            .map(|end| end - std::mem::replace(&mut start, *end));
        threads.max().unwrap_or(0) as u32
    }

    /// Where the core of a hardware thread ends, both by their positions.
    pub(super) fn end_around(&self, pu: usize) -> usize {
        let core = self.ends.partition_point(|end| *end <= pu);
        self.ends.get(core).copied().unwrap_or(pu)
    }

    /// The positions of the hardware threads of some successive cores.
    pub(super) fn range(&self, cores: Range<usize>) -> Range<usize> {
        let before = |core: usize| core.checked_sub(1).map_or(0, |last| self.ends[last]);
        before(cores.start)..before(cores.end)
    }

    /// The hardware threads of some successive cores.
    pub(super) fn of(&self, cores: Range<usize>) -> &[PuIdx] {
        &self.pus[self.range(cores)]
    }
}

/// Successive usable cores in the same objects, so that they are as near to every device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    /// Positions among the usable cores.
    pub(super) cores: Range<usize>,
    /// As [`Surroundings::spot`] numbers it.
    spot: usize,
}

/// Tasks whose devices have the same place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    /// Local ids, ascending.
    pub(super) tasks: Vec<u32>,
    /// The ring of each stretch of cores.
    pub(super) rings: Vec<u32>,
}

/// The usable cores, and the tasks by their devices' places.
#[derive(Clone, Debug)]
pub(super) struct Places {
    pub(super) cores: Cores,
    pub(super) stretches: Vec<Stretch>,
    pub(super) groups: Vec<Group>,
}

impl Places {
    /// At most `limit` hardware threads of each core are used.
    pub(super) fn of(
        here: &Situation<'_>,
        on: &Surroundings,
        devices: &Devices,
        limit: Option<u32>,
    ) -> Self {
        let cores = cores(here, limit);
        let stretches = stretches(here, on, &cores);
        let groups = groups(on, devices, &stretches);
        Self {
            cores,
            stretches,
            groups,
        }
    }
}

/// The cores that tasks may get: those of the step that nobody else has, whole, without isolated CPUs.
/// If there is none, isolated ones too; if there is none then, those of the step. Each has at most
/// `limit` hardware threads.
fn cores(here: &Situation<'_>, limit: Option<u32>) -> Cores {
    let table = here.node.table();
    let mut others = reserved_cpus(here.request, here.node).into_owned();
    others.insert_all(&here.claims.taken);
    let others = Some(others).filter(|others| !others.is_empty());
    let limit = limit.unwrap_or(u32::MAX) as usize;
    let usable = |(of_others, of_isolated): (bool, bool)| {
        let others = others.as_ref().filter(|_| !of_others);
        let isolated = here.node.isolated().filter(|_| !of_isolated);
        let is_of_others = |pu: &PuIdx| others.is_some_and(|set| table.is_in(*pu, set));
        let is_isolated = |pu: &PuIdx| isolated.is_some_and(|set| table.is_in(*pu, set));
        let mut cores = Cores {
            pus: Vec::with_capacity(table.len()),
            ends: Vec::with_capacity(table.cores.len()),
        };
        for pus in table
            .cores
            .iter()
            .filter(|pus| !pus.iter().any(is_of_others))
        {
            let pus = here.owned.among(pus).filter(|pu| !is_isolated(pu));
            cores.push(pus.take(limit));
        }
        cores
    };
    let choices = [(false, false), (false, true), (true, true)];
    let mut found = choices.into_iter().map(usable);
    found.find(|cores| !cores.is_empty()).unwrap_or_default()
}

/// The usable cores by how near they are to devices.
fn stretches(here: &Situation<'_>, on: &Surroundings, cores: &Cores) -> Vec<Stretch> {
    // Objects have whole cores, so one hardware thread tells for all.
    let spot = |core: usize| {
        let first = cores.of(core..core + 1).first();
        on.spot(first.and_then(|pu| here.node.table().cpu(*pu)))
    };
    let mut stretches: Vec<Stretch> = Vec::new();
    for core in 0..cores.len() {
        let spot = spot(core);
        match stretches.last_mut() {
            Some(last) if last.spot == spot => last.cores.end = core + 1,
            _ => stretches.push(Stretch {
                cores: core..core + 1,
                spot,
            }),
        }
    }
    stretches
}

/// The rings numbered without gaps, in their order: an object around a place that adds no usable core to it is no ring
/// of its own. So tasks whose devices have the same usable cores next to them are one group, also where one has several
/// devices.
fn in_turn(mut rings: Vec<u32>) -> Vec<u32> {
    let mut known = rings.clone();
    known.sort_unstable();
    known.dedup();
    // Nothing is nearer than what is next to a device, whether tasks can have that or not.
    let first = known.first().map_or(0, |first| u32::from(*first > 0));
    for ring in &mut rings {
        *ring = first + known.partition_point(|one| one < ring) as u32;
    }
    rings
}

/// Tasks by the place of their devices.
fn groups(on: &Surroundings, devices: &Devices, stretches: &[Stretch]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut group_of = Vec::with_capacity(devices.parts.len());
    for part in &devices.parts {
        let own = part.iter().map(|at| devices.visible[*at as usize]);
        let own: Vec<_> = own.filter_map(|device| on.neighbourhood(device)).collect();
        let ring = |stretch: &Stretch| {
            let rings = own.iter().map(|place| place.ring(stretch.spot));
            rings.min().unwrap_or(0)
        };
        let rings = in_turn(stretches.iter().map(ring).collect());
        let same = groups.iter().position(|group| group.rings == rings);
        group_of.push(same.unwrap_or(groups.len()));
        if same.is_none() {
            let tasks = Vec::new();
            groups.push(Group { tasks, rings });
        }
    }
    for (task, part) in (0..).zip(&devices.part_of) {
        groups[group_of[*part as usize]].tasks.push(task);
    }
    groups.retain(|group| !group.tasks.is_empty());
    groups
}
