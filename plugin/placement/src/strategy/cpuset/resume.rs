//! Which CPUs a job's cpuset has when the job goes on: after a suspension, or when CPUs went offline.
//! In: the node, the CPUs that it had, those that the job owns, those that are free. Out: [`Resumed`]. Pure.
//!
//! If all of the original CPUs are free they are taken again. Else best fit chooses as many hardware threads
//! among the free ones of the original NUMA nodes; without `RESUME_OPTION=ORIG_CPUS` then among those of nearer and
//! farther NUMA nodes too. `CPU_LIST` is not looked at: the document names none where a job is resumed.

use crate::owned::Owned;
use crate::request::cpuset::Dynamic;
use crate::request::{Allocation, Claims, Request};
use crate::sets::cpuset::CpuSet;
use crate::strategy::cpuset::choose::Choosing;
use crate::strategy::cpuset::job::Job;
use crate::topology::node::Node;

/// A cpuset whose job goes on.
#[derive(Clone, Copy, Debug)]
pub struct Resume<'a> {
    /// The request that led to it.
    pub requested: &'a Dynamic,
    /// The CPUs that it had.
    pub original: &'a CpuSet,
    /// The CPUs that the job owns on this node, without those that the site keeps free.
    pub own: &'a CpuSet,
    /// CPUs that nobody else uses now. Those that the job does not own count for nothing.
    pub free: &'a CpuSet,
}

/// The cpuset of such a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resumed {
    /// The original CPUs.
    Same,
    /// Other CPUs, as many.
    Changed(CpuSet),
    /// The original CPUs, although others use some of them: no others are free, and the job did not request
    /// to wait.
    Shared,
    /// Nothing yet: the job waits.
    NoRoom,
}

impl Resume<'_> {
    /// The CPUs that may be used within a distance of the original NUMA nodes, free or not.
    #[must_use]
    pub fn eligible(&self, node: &Node, radius: u32) -> CpuSet {
        let distances = node.distances();
        let all = || (0..distances.len()).filter_map(|at| Some((at, distances.node(at)?.1)));
        let homes = all().filter(|(_, cpus)| cpus.intersects(self.original));
        let homes: Vec<_> = homes.map(|(at, _)| at).collect();
        let is_near = |at: usize| {
            homes
                .iter()
                .any(|home| distances.radius(*home, at) <= radius)
        };
        let mut eligible = CpuSet::new();
        for (_, cpus) in all().filter(|(at, _)| is_near(*at)) {
            eligible.insert_all(&cpus.intersection(self.own));
        }
        eligible
    }

    /// The largest distance that may be used.
    #[must_use]
    pub fn farthest(&self, node: &Node) -> u32 {
        match self.requested.orig_cpus {
            true => 0,
            false => node.distances().largest(),
        }
    }

    /// The CPUs that it gets.
    #[must_use]
    pub fn choose(&self, node: &Node) -> Resumed {
        if self.original.is_subset(self.free) {
            return Resumed::Same;
        }
        let node = node.by_tree();
        let request = Request {
            allocation: Allocation::Cpus(self.own.clone()),
            ..Request::default()
        };
        let job = Job::of(&request, node, &Owned::of(&request, node));
        let requested = Dynamic {
            ncpus: Some(self.original.count() as u32),
            cpu_list: None,
            ..self.requested.clone()
        };
        let choosing = Choosing {
            is_count_typed: false,
            requested: &requested,
            job: &job.by_threads(),
            request: &request,
            claims: &Claims::default(),
        };
        for radius in 0..=self.farthest(node) {
            let usable = self.eligible(node, radius).intersection(self.free);
            // A job that owns fewer would get fewer.
            let found = choosing.fit(&usable).ok();
            let enough = |cpus: &CpuSet| cpus.count() >= self.original.count();
            if let Some(cpus) = found.map(|fit| fit.cpus).filter(enough) {
                return Resumed::Changed(cpus);
            }
        }
        match self.requested.orig_cpus {
            true => Resumed::NoRoom,
            false => Resumed::Shared,
        }
    }
}

/// Puts each of some CPUs of a cpuset where the cpuset is now. Cores that both sets have stay; of the others whole
/// ones go to whole ones as long as there are some, in the order of their numbers. Every step of a job finds
/// the same places.
#[must_use]
pub fn moved(node: &Node, (from, to): (&CpuSet, &CpuSet), cpus: &CpuSet) -> CpuSet {
    if from == to {
        return cpus.clone();
    }
    if from.is_subset(cpus) {
        return to.clone();
    }
    let (old, new) = (cores(node, from), cores(node, to));
    let kept = |core: &&Vec<_>, others: &[Vec<_>]| others.contains(core);
    let rest = |own: &[Vec<_>], others: &[Vec<_>]| -> Vec<_> {
        let rest = own.iter().filter(|core| !kept(core, others));
        let mut rest: Vec<_> = rest.cloned().collect();
        rest.sort_by_key(|core| std::cmp::Reverse(core.len()));
        rest.concat()
    };
    let (leaving, coming) = (rest(&old, &new), rest(&new, &old));
    let place = |cpu| match leaving.iter().position(|other| *other == cpu) {
        // A set of another size is possible where whole NUMA nodes are taken.
        Some(at) => coming.get(at % coming.len().max(1)).copied(),
        None => to.contains(cpu).then_some(cpu),
    };
    let mut places: Vec<_> = cpus.iter().filter_map(place).collect();
    places.sort_unstable();
    places.into_iter().collect()
}

/// The CPUs of a set, core by core, in the order of their lowest CPUs. Each that the machine lacks, because it was offline
/// at the discovery, is a core.
fn cores(node: &Node, cpus: &CpuSet) -> Vec<Vec<crate::sets::ids::CpuId>> {
    let table = node.by_tree().table();
    let of_core = |pus: &[_]| -> Vec<_> {
        let all = pus.iter().filter_map(|pu| table.cpu(*pu));
        let mut own: Vec<_> = all.filter(|cpu| cpus.contains(*cpu)).collect();
        own.sort_unstable();
        own
    };
    let mut cores: Vec<_> = table.cores.iter().map(of_core).collect();
    cores.retain(|core| !core.is_empty());
    let known: CpuSet = cores.iter().flatten().copied().collect();
    cores.extend(cpus.difference(&known).iter().map(|cpu| vec![cpu]));
    cores.sort_unstable();
    cores
}
