//! The CPUs that tasks can be mapped to: the step's cores, or its hardware threads, in hwloc's
//! logical order, each with its objects. In: what the step owns. Out: [`Share`]. Pure.

use std::ops::Range;

use crate::request::cpu_bind::ObjectKind;
use crate::sets::cpuset::CpuSet;
use crate::sets::ids::CpuId;
use crate::strategy::situation::Situation;
use crate::topology::objects::Places;

/// The step's CPUs in the meaning of the mapping language.
pub(super) struct Share<'a> {
    places: &'a Places,
    /// The places of the step's hardware threads.
    threads: Vec<usize>,
    /// The threads of each CPU, as positions in `threads`.
    cpus: Vec<Range<usize>>,
}

impl<'a> Share<'a> {
    /// With `as_threads` each hardware thread is a CPU, otherwise each core is.
    pub(super) fn of(here: &Situation<'_>, places: &'a Places, as_threads: bool) -> Self {
        let own = here.owned.usable_cpus(here.node.table());
        let limit = here
            .threads_of_bound_core()
            .map_or(usize::MAX, |threads| threads as usize);
        let mut threads = Vec::new();
        let mut cpus: Vec<Range<usize>> = Vec::new();
        let mut last = None;
        for (place, cpu) in places.cpus().iter().enumerate() {
            if !own.contains(*cpu) {
                continue;
            }
            let core = places.object(ObjectKind::Core, place);
            let is_new = core.is_none() || core != last;
            last = core;
            match cpus.last_mut() {
                Some(cpu) if !is_new && !as_threads => {
                    if cpu.len() >= limit {
                        continue;
                    }
                    cpu.end += 1;
                }
                _ if !is_new && Self::of_core(places, &threads, core) >= limit => continue,
                _ => cpus.push(threads.len()..threads.len() + 1),
            }
            threads.push(place);
        }
        Self {
            places,
            threads,
            cpus,
        }
    }

    /// The number of threads at the end of the list that belong to a core.
    fn of_core(places: &Places, threads: &[usize], core: Option<u32>) -> usize {
        let same = |place: &&usize| places.object(ObjectKind::Core, **place) == core;
        threads.iter().rev().take_while(same).count()
    }

    /// The number of CPUs.
    pub(super) fn len(&self) -> usize {
        self.cpus.len()
    }

    /// Whether the machine has objects of a kind.
    pub(super) fn has(&self, kind: ObjectKind) -> bool {
        self.places.count(kind) > 0
    }

    /// The object of a kind that all of a CPU's threads lie in: an L1 cache may have only one of a
    /// core's threads. A single thread stands for a core that is bound by one of its threads.
    pub(super) fn object(&self, kind: ObjectKind, cpu: usize) -> Option<u32> {
        let mut threads = self.threads[self.cpus.get(cpu)?.clone()].iter();
        let first = self.places.object(kind, *threads.next()?);
        let is_same = |place: &usize| self.places.object(kind, *place) == first;
        let is_whole = kind == ObjectKind::Pu || threads.all(is_same);
        first.filter(|_| is_whole)
    }

    /// The objects of a kind with a thread of the step, in order.
    fn objects(&self, kind: ObjectKind) -> Vec<u32> {
        let places = self.threads.iter();
        let mut all: Vec<_> = places
            .filter_map(|place| self.places.object(kind, *place))
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The number of objects of a kind that have a thread of the step.
    pub(super) fn object_count(&self, kind: ObjectKind) -> u32 {
        self.objects(kind).len() as u32
    }

    /// The CPUs of each object of a kind, in the order of objects. CPUs outside every object are left
    /// out.
    pub(super) fn by_object(&self, kind: ObjectKind) -> Vec<Vec<usize>> {
        let objects = self.objects(kind);
        let mut groups = vec![Vec::new(); objects.len()];
        for cpu in 0..self.len() {
            let object = self.object(kind, cpu);
            if let Some(Ok(at)) = object.map(|object| objects.binary_search(&object)) {
                groups[at].push(cpu);
            }
        }
        groups
    }

    /// The kernel numbers of a CPU's hardware threads.
    pub(super) fn numbers(&self, cpu: usize) -> impl Iterator<Item = CpuId> + '_ {
        let threads = self.cpus.get(cpu).cloned().unwrap_or_default();
        let places = self.threads[threads].iter();
        places.map(|place| self.places.cpus()[*place])
    }

    /// The kernel numbers of the hardware threads of several CPUs, as a set.
    pub(super) fn set(&self, cpus: &[usize]) -> CpuSet {
        cpus.iter().flat_map(|cpu| self.numbers(*cpu)).collect()
    }
}
