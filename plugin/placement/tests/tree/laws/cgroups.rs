//! With `ConstrainCores=yes` a step's cgroup has the CPUs that slurmd counts for its cores. The
//! count is made here a second time: cores and threads by division, and the position instead of a
//! number beyond the count of CPUs.

use berth_placement::{CpuId, CpuSet};

use super::super::asking::{any, cores, plain};
use super::super::door::{Ask, LEVELS, Own};
use super::super::facts::Tree;
use super::super::harness::{Case, Law, Verdict};
use super::super::random::Random;

pub const INSIDE: Law = Law {
    name: "with ConstrainCores only CPUs of the step's cgroup",
    request: of_cores,
    holds: inside,
};

pub const GRANTED: Law = Law {
    name: "with ConstrainCores no step that Slurm grants is refused",
    request: without_limits,
    holds: granted,
};

pub const SOMEWHERE: Law = Law {
    name: "with ConstrainCores every task has a CPU",
    request: of_cores,
    holds: super::own::somewhere,
};

pub const NOTHING_LOST: Law = Law {
    name: "with ConstrainCores nothing changes where slurmd counts every thread",
    request: of_cores,
    holds: nothing_lost,
};

fn of_cores(random: &mut Random, tree: &Tree) -> Ask {
    Ask {
        own: cores(random, tree),
        constrain_cores: true,
        ..any(random, tree)
    }
}

fn without_limits(random: &mut Random, tree: &Tree) -> Ask {
    let own = cores(random, tree);
    let Own::Cores(mine, _) = &own else {
        unreachable!("cores were asked for")
    };
    let granted = mine.len() as u32 * Counted::of(tree).threads;
    let levels = LEVELS.map(Some);
    let request = plain(random, tree, &[&levels[..], &[None]].concat());
    let cpus_per_task = request.cpus_per_task.min(granted);
    Ask {
        tasks: random.within(1, granted / cpus_per_task),
        cpus_per_task,
        own,
        constrain_cores: true,
        ..request
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
        let cgroup = |(core, found): (u32, &super::super::facts::TreeCore)| {
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

    fn cgroup(&self, own: &Own) -> CpuSet {
        let Own::Cores(cores, _) = own else {
            return CpuSet::new();
        };
        let sets = cores.iter().map(|core| &self.cgroups[*core as usize]);
        sets.flat_map(CpuSet::iter).collect()
    }
}

fn inside(case: &Case) -> Verdict {
    let Ok(answer) = case.answer() else {
        return Verdict::Aside;
    };
    let cgroup = Counted::of(case.tree).cgroup(&case.request.own);
    let effective = cgroup.intersection(case.tree.machine.cpus());
    // A cgroup all of whose CPUs are offline has those of the one above.
    let allowed = match effective.is_empty() {
        true => &case.owned.cpus,
        false => &effective,
    };
    let beyond = answer.masks.iter().find(|mask| !mask.is_subset(allowed));
    Verdict::when(beyond.is_none(), || format!("the cgroup has {allowed}"))
}

fn granted(case: &Case) -> Verdict {
    let refused = case.answer().err();
    Verdict::when(refused.is_none(), || {
        let cgroup = Counted::of(case.tree).cgroup(&case.request.own);
        format!("the cgroup has {cgroup}: {refused:?}")
    })
}

fn nothing_lost(case: &Case) -> Verdict {
    let counted = Counted::of(case.tree);
    let mut cores = case.tree.cores.iter().zip(&counted.cgroups);
    if !cores.all(|(core, cgroup)| core.pus.iter().copied().collect::<CpuSet>() == *cgroup) {
        return Verdict::Aside;
    }
    let free = Ask {
        constrain_cores: false,
        ..case.request.clone()
    };
    let (free, constrained) = (case.answer_to(&free), case.answer());
    Verdict::when(free == constrained, || format!("without: {free:?}"))
}
