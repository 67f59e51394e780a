//! With `ConstrainCores=yes` a step's cgroup has the CPUs that slurmd counts for its cores. The
//! count is made here a second time: cores and threads by division, and the position instead of a
//! number beyond the count of CPUs.

use berth_placement::{Allocation, CpuId, CpuSet};

use crate::harness::ask::Ask;
use crate::harness::random::Random;
use crate::harness::requests::{cores, perhaps_at_a_level};
use crate::harness::tree::{Tree, TreeCore};
use crate::harness::trial::{Case, Verdict, holds};

pub fn of_cores(random: &mut Random, tree: &Tree) -> Ask {
    let mut ask = super::same::of_cores(random, tree);
    ask.rules.constrain_cores = true;
    ask
}

pub fn without_limits(random: &mut Random, tree: &Tree) -> Ask {
    let mut ask = perhaps_at_a_level(random, tree);
    let allocation = cores(random, tree);
    let granted = cores_of(&allocation).len() as u32 * Counted::of(tree).threads;
    let request = &mut ask.request;
    request.cpus_per_task = request.cpus_per_task.min(granted);
    request.tasks = random.within(1, granted / request.cpus_per_task);
    request.allocation = allocation;
    ask.rules.constrain_cores = true;
    ask
}

fn cores_of(allocation: &Allocation) -> Vec<usize> {
    match allocation {
        Allocation::Cores { cores, .. } => cores.iter().map(|core| core.0 as usize).collect(),
        _ => Vec::new(),
    }
}

/// slurmd's count.
struct Counted {
    threads: u32,
    /// For each core the CPUs in a cgroup of it.
    cgroups: Vec<CpuSet>,
}

impl Counted {
    fn of(tree: &Tree) -> Self {
        let all = tree.machine.cpus().count() as u32;
        let threads = (all / tree.cores.len() as u32).max(1);
        let cgroup = |(core, found): (u32, &TreeCore)| {
            let entry = |thread: u32| {
                let position = (core * threads + thread) % all;
                let there = found.pus.get(thread as usize).filter(|cpu| cpu.0 < all);
                there.copied().unwrap_or(CpuId(position))
            };
            (0..threads).map(entry).collect()
        };
        Self {
            threads,
            cgroups: (0..).zip(&tree.cores).map(cgroup).collect(),
        }
    }

    fn cgroup(&self, allocation: &Allocation) -> CpuSet {
        let cores = cores_of(allocation).into_iter();
        let sets = cores.map(|core| &self.cgroups[core % self.cgroups.len()]);
        sets.flat_map(CpuSet::iter).collect()
    }
}

/// With ConstrainCores tasks have only CPUs of the step's cgroup.
pub fn inside(case: &Case) -> Verdict {
    let answer = case.answer().ok()?;
    let cgroup = Counted::of(case.tree).cgroup(&case.ask.request.allocation);
    let effective = cgroup.intersection(case.tree.machine.cpus());
    // A cgroup all of whose CPUs are offline has those of the one above.
    let allowed = match effective.is_empty() {
        true => &case.owned.cpus,
        false => &effective,
    };
    holds(answer.used().is_subset(allowed), || {
        format!("the cgroup has {allowed}")
    })
}

/// With ConstrainCores no step that Slurm grants is refused.
pub fn granted(case: &Case) -> Verdict {
    holds(case.answer().is_ok(), || {
        let cgroup = Counted::of(case.tree).cgroup(&case.ask.request.allocation);
        format!("the cgroup has {cgroup}")
    })
}

/// With ConstrainCores nothing changes where slurmd counts every thread.
pub fn nothing_lost(case: &Case) -> Verdict {
    let counted = Counted::of(case.tree);
    let mut cores = case.tree.cores.iter().zip(&counted.cgroups);
    if !cores.all(|(core, cgroup)| core.pus.iter().copied().collect::<CpuSet>() == *cgroup) {
        return None;
    }
    let mut free = case.ask.clone();
    free.rules.constrain_cores = false;
    let (free, constrained) = (case.answer_to(&free), case.answer());
    holds(free == constrained, || format!("without: {free:?}"))
}
