//! The cores that a `--binding` chose for each task.
//! In: positions of cores. Out: logical and kernel numbers. Pure.

use crate::request::grid_engine::Place;
use crate::sets::cpuset::CpuSet;

/// One core of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenCore {
    /// Where it is, as `--binding` names it.
    pub place: Place,
    /// Its hardware threads that the task is to use, by kernel number.
    pub cpus: CpuSet,
}

/// Every task's cores; a list of one is shared by all tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// One task's after the other's.
    cores: Vec<ChosenCore>,
    /// Where each task's end.
    ends: Vec<usize>,
}

impl Chosen {
    /// The cores of each task.
    pub fn new<M>(tasks: impl IntoIterator<Item = M>) -> Self
    where
        M: IntoIterator<Item = ChosenCore>,
    {
        let mut chosen = Self::default();
        for cores in tasks {
            chosen.cores.extend(cores);
            chosen.ends.push(chosen.cores.len());
        }
        chosen
    }

    /// Each list of cores, in order.
    pub fn lists(&self) -> impl ExactSizeIterator<Item = &[ChosenCore]> {
        (0..self.ends.len()).map(|at| self.list(at))
    }

    fn list(&self, at: usize) -> &[ChosenCore] {
        let Some(end) = self.ends.get(at) else {
            return &[];
        };
        let first = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.cores[first..*end]
    }

    /// A task's cores, by local id.
    #[must_use]
    pub fn of_task(&self, id: usize) -> &[ChosenCore] {
        self.list(if self.ends.len() == 1 { 0 } else { id })
    }

    /// A task's CPUs.
    #[must_use]
    pub fn cpus_of_task(&self, id: usize) -> CpuSet {
        union(self.of_task(id))
    }

    /// The CPUs of all tasks.
    #[must_use]
    pub fn cpus(&self) -> CpuSet {
        union(&self.cores)
    }
}

fn union(cores: &[ChosenCore]) -> CpuSet {
    let mut all = CpuSet::new();
    cores.iter().for_each(|core| all.insert_all(&core.cpus));
    all
}

/// A task's cores as an `explicit` strategy and Grid Engine's pe_hostfile have them.
#[must_use]
pub fn places(cores: &[ChosenCore]) -> String {
    let places: Vec<_> = cores.iter().map(|core| core.place.to_string()).collect();
    places.join(":")
}
