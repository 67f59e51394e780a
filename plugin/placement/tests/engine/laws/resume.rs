//! Which CPUs a cpuset has when its job goes on: its own, those of its NUMA nodes, or others of the job.

use berth_placement::strategy::cpuset::{Resume, Resumed, moved};
use berth_placement::{Allocation, CpuId, CpuSet, Node};

use super::cpuset::homes;
use crate::harness::ask::dynamic;
use crate::harness::random::Random;
use crate::harness::requests::{few_of, some_of};
use crate::harness::trial::{Case, Verdict, holds};

/// A resumed job keeps to what it may use, and leaves its NUMA nodes only where they have no room.
pub fn keeps_to_its_own(case: &Case) -> Verdict {
    let Allocation::Cpus(own) = &case.ask.request.allocation else {
        return None;
    };
    let mut random = Random::new(case.random);
    let original = some_of(&mut random, own);
    let mut free = few_of(&mut random, case.tree);
    if random.once_in(2) {
        free = case.tree.machine.cpus().difference(&free);
    }
    let requested = dynamic(random.pick(&["RESUME_OPTION=ORIG_CPUS", "CPUSET[]"]));
    let resume = Resume {
        requested: &requested,
        original: &original,
        own,
        free: &free,
    };
    let node = case.node();
    let homes = homes(node.distances());
    let homes = homes.iter().filter(|home| home.intersects(&original));
    let in_homes: CpuSet = homes.flat_map(CpuSet::iter).collect();
    let (near, count) = (in_homes.intersection(own), original.count());
    let found = resume.choose(&node);
    let is_right = match &found {
        Resumed::Same => original.is_subset(&free),
        Resumed::Changed(cpus) => {
            // The original NUMA nodes come first.
            let has_room = near.intersection(&free).count() >= count;
            let at_home = cpus.is_subset(&in_homes) || !requested.orig_cpus && !has_room;
            at_home && cpus.count() == count && is_moved(&node, &resume, cpus)
        }
        Resumed::NoRoom | Resumed::Shared => {
            let eligible = if requested.orig_cpus { &near } else { own };
            let is_full = eligible.intersection(&free).count() < count;
            is_full && (found == Resumed::NoRoom) == requested.orig_cpus
        }
    };
    holds(is_right, || {
        format!("{original} of {own}, free {free}, {requested}: {found:?}")
    })
}

/// Whether others than the original CPUs are free ones of the job, and each original one has a place among them.
fn is_moved(node: &Node, resume: &Resume, cpus: &CpuSet) -> bool {
    let place = |cpu: CpuId| {
        moved(
            node,
            (resume.original, cpus),
            &std::iter::once(cpu).collect(),
        )
    };
    let has_place = |cpu| place(cpu).count() == 1 && place(cpu).is_subset(cpus);
    let is_free = cpus.is_subset(resume.own) && cpus.is_subset(resume.free);
    is_free && !resume.original.is_subset(resume.free) && resume.original.iter().all(has_place)
}
