//! `--cpuset` on any machine: as many CPUs of the step as are requested, and no smaller radius could
//! have held them, found by trying all sets of NUMA nodes or of CPUs.

use berth_placement::request::cpuset::Dynamic;
use berth_placement::{
    Allocation, CpuId, CpuSet, Distances, Level, Mode, Node, ObjectKind, StepCpuset,
};

use crate::harness::ask::{Ask, LEVELS, choosing};
use crate::harness::random::Random;
use crate::harness::requests::{few_of, plain, some_of};
use crate::harness::tree::Tree;
use crate::harness::trial::{Case, Verdict, broken, holds};

fn one_task(random: &mut Random, tree: &Tree, levels: &[Option<Level>], cpuset: &str) -> Ask {
    let mut ask = plain(random, tree, levels);
    ask.request.tasks = 1;
    ask.request.cpus_per_task = 1;
    ask.request.cpuset = Some(choosing(cpuset));
    ask
}

/// Some number of the step's CPUs.
pub fn counted(random: &mut Random, tree: &Tree) -> Ask {
    let mut ask = one_task(random, tree, &[None, Some(Level::Cores)], "NCPUS=1");
    let most = tree.owned(&ask.request.allocation).count() as u32;
    let count = random.within(1, most.max(1));
    ask.request.cpuset = Some(choosing(&format!("NCPUS={count}")));
    ask
}

/// Up to eight of all CPUs.
pub fn of_all(random: &mut Random, tree: &Tree) -> Ask {
    let mut ask = any(random, tree);
    let count = random.within(1, 8);
    ask.request.cpuset = Some(choosing(&format!("NCPUS={count}")));
    ask
}

/// Up to 12 of all CPUs, with one of the keywords, perhaps from a list.
pub fn any(random: &mut Random, tree: &Tree) -> Ask {
    let (count, most) = (random.within(1, 12), random.within(0, 3));
    let keyword = match random.within(0, 4) {
        0 => String::new(),
        1 => format!(";MAX_CPU_PER_NODE={}", most.max(1)),
        2 => ";NODE_EX=Y".into(),
        3 => ";CPUSET_OPTIONS=CPUSET_MEMORY_MANDATORY".into(),
        _ => format!(";MAX_RADIUS={most}"),
    };
    let listed = some_of(random, tree.machine.cpus());
    let list = match random.once_in(3) && listed.count() as u32 >= count {
        true => format!(";CPU_LIST={listed}"),
        false => String::new(),
    };
    let text = format!("NCPUS={count}{keyword}{list}");
    let mut ask = one_task(random, tree, &[None], &text);
    ask.request.allocation = Allocation::Cpus(tree.machine.cpus().clone());
    ask.request.cpu_bind.mode = Some(Mode::Free);
    ask.claims.taken = few_of(random, tree);
    ask
}

/// The request, and the number of CPUs in it.
fn requested<'a>(case: &'a Case) -> Option<(&'a Dynamic, usize)> {
    match case.ask.request.cpuset.as_ref()? {
        StepCpuset::Choose(choice) => Some((&choice.requested, choice.requested.ncpus? as usize)),
        StepCpuset::Given(_) => None,
    }
}

/// It has as many CPUs of the step as requested, and tasks have no others.
pub fn inside(case: &Case) -> Verdict {
    let (_, count) = requested(case).filter(|_| case.owned.count() > 0)?;
    let Ok(answer) = case.answer() else {
        return broken("it is refused");
    };
    let Some(set) = &answer.plan.cpuset else {
        return broken("there is no cpuset");
    };
    let is_own = set.cpus.is_subset(&case.owned.cpus) && answer.used().is_subset(&set.cpus);
    holds(set.cpus.count() == count && is_own, || {
        format!("{count} of {}: {}", case.owned.cpus, set.cpus)
    })
}

/// The NUMA nodes with CPUs, each with those CPUs that the kernel counts for it and for no other.
fn nodes(tree: &Tree) -> Vec<CpuSet> {
    let near = tree.machine.cpus_by_nearest_node().into_iter();
    let mut nodes: Vec<_> = near
        .map(|(_, cpus)| cpus.intersection(tree.machine.cpus()))
        .collect();
    let mut rest = tree.machine.cpus().clone();
    nodes.iter().for_each(|cpus| rest = rest.difference(cpus));
    nodes.push(rest);
    nodes.retain(|cpus| !cpus.is_empty());
    nodes
}

/// Those of some things whose bits are set.
fn chosen<T>(things: &[T], bits: u32) -> Vec<&T> {
    let chosen = (0..).zip(things).filter(|(at, _)| bits >> at & 1 == 1);
    chosen.map(|(_, thing)| thing).collect()
}

/// No smaller radius holds the number. Without distances 0 is a NUMA node, 1 the package, 2 the machine.
pub fn smallest(case: &Case) -> Verdict {
    let ((_, count), nodes) = (requested(case)?, nodes(case.tree));
    let answer = case.answer().ok()?;
    if nodes.len() > 10 || !case.tree.machine.parts().numa_distances.is_empty() {
        return None;
    }
    let Some(set) = answer.plan.cpuset else {
        return broken("there is no cpuset");
    };
    let packages = case.tree.machine.objects(ObjectKind::Package);
    let package = |node: &CpuSet| {
        let first = node.lowest();
        packages
            .iter()
            .position(|cpus| first.is_some_and(|cpu| cpus.contains(cpu)))
    };
    let radius = |bits| {
        let members = chosen(&nodes, bits);
        let offer = |node: &&CpuSet| node.intersection(&case.owned.cpus).count();
        let offers: Vec<_> = members.iter().map(offer).collect();
        let holds = offers.iter().sum::<usize>() >= count && !offers.contains(&0);
        let together = members
            .iter()
            .all(|node| package(node) == package(members[0]));
        let radius = match (members.len(), together) {
            (1, _) => 0,
            (_, true) => 1,
            (_, false) => 2,
        };
        holds.then_some(radius)
    };
    let best = (1..1 << nodes.len()).filter_map(radius).min();
    holds(best == Some(set.radius), || {
        format!(
            "{} has radius {}, and {best:?} holds {count}",
            set.cpus, set.radius
        )
    })
}

/// NUMA nodes as the engine counts them, with their CPUs.
pub fn homes(distances: &Distances) -> Vec<CpuSet> {
    let all = (0..distances.len()).filter_map(|at| distances.node(at));
    all.map(|(_, cpus)| cpus.clone()).collect()
}

/// The numbers of the NUMA nodes in which a set has CPUs.
fn used(homes: &[CpuSet], cpus: &CpuSet) -> Vec<usize> {
    (0..homes.len())
        .filter(|at| homes[*at].intersects(cpus))
        .collect()
}

/// The smallest radius of all sets of NUMA nodes that can give the number, and the fewest nodes of it.
fn smallest_by_force(
    node: &Node,
    free: &CpuSet,
    requested: &Dynamic,
    needed: usize,
) -> Option<(u32, usize)> {
    let distances = node.distances();
    let limit = requested.max_cpu_per_node.unwrap_or(u32::MAX) as usize;
    let offer = |cpus: &CpuSet| {
        let own = cpus.intersection(free).count();
        let is_cut = requested.has_whole_nodes() && own < cpus.count();
        if is_cut { 0 } else { own.min(limit) }
    };
    let offers: Vec<_> = homes(distances).iter().map(offer).enumerate().collect();
    let sets = (1_u32..1 << offers.len()).filter_map(|bits| {
        let members = chosen(&offers, bits);
        let pairs = members
            .iter()
            .flat_map(|one| members.iter().map(|other| (one.0, other.0)));
        let radius = pairs
            .map(|(one, other)| distances.radius(one, other))
            .max()?;
        let all = members.iter().all(|(_, offer)| *offer > 0);
        let sum: usize = members.iter().map(|(_, offer)| offer).sum();
        (all && sum >= needed).then_some((radius, members.len()))
    });
    sets.min()
}

/// Best fit has the smallest radius, and of that the fewest NUMA nodes.
pub fn smallest_radius(case: &Case) -> Verdict {
    let (requested, count) = requested(case)?;
    let node = case.node();
    let all = case.tree.machine.cpus();
    let mut free = all.difference(&case.ask.claims.taken);
    if let Some(list) = &requested.cpu_list {
        free = free.intersection(list.cpus());
    }
    let needed = count.min(all.count());
    let best = smallest_by_force(&node, &free, requested, needed);
    let best = best.filter(|(radius, _)| requested.max_radius.is_none_or(|most| *radius <= most));
    let Ok(answer) = case.answer() else {
        return holds(best.is_none(), || format!("{best:?} holds it"));
    };
    let Some(found) = &answer.plan.cpuset else {
        return broken("there is no cpuset");
    };
    let homes = homes(node.distances());
    let used = used(&homes, &found.cpus);
    let is_best = Some((found.radius, used.len())) == best && found.cpus.is_subset(&free);
    let size = found.cpus.count();
    let most = requested.max_cpu_per_node.unwrap_or(u32::MAX) as usize;
    let fits = match requested.has_whole_nodes() {
        true => size >= needed && used.iter().all(|at| homes[*at].is_subset(&found.cpus)),
        false => {
            let is_within = |at: &usize| homes[*at].intersection(&found.cpus).count() <= most;
            size == needed && used.iter().all(is_within)
        }
    };
    // A step on the whole node is not bound.
    let bound = &answer.masks[0];
    let is_inside = *bound == found.cpus || found.cpus == *all && bound.is_empty();
    holds(
        is_best && fits && is_inside && found.count as usize == size,
        || format!("{found:?}, and {best:?} is the best"),
    )
}

/// Of the sets of best fit's radius and number of NUMA nodes, none breaks fewer cores.
pub fn fewest_broken_cores(case: &Case) -> Verdict {
    let free = case.tree.machine.cpus().difference(&case.ask.claims.taken);
    if free.count() > 14 {
        return None;
    }
    let found = case.answer().ok()?.plan.cpuset?;
    let node = case.node();
    let (distances, homes) = (node.distances(), homes(node.distances()));
    let cores = case.tree.machine.objects(ObjectKind::Core);
    let score = |cpus: &CpuSet| {
        let is_broken =
            |core: &&CpuSet| core.intersects(cpus) && !core.intersection(&free).is_subset(cpus);
        let broken = cores.iter().filter(is_broken).count();
        (distances.radius_of(cpus), used(&homes, cpus).len(), broken)
    };
    let numbers: Vec<CpuId> = free.iter().collect();
    let sets = (0_u32..1 << numbers.len()).filter(|bits| bits.count_ones() == found.count);
    let best = sets
        .map(|bits| score(&chosen(&numbers, bits).into_iter().copied().collect()))
        .min();
    holds(best == Some(score(&found.cpus)), || {
        format!(
            "{} is {:?}, and {best:?} is the best",
            found.cpus,
            score(&found.cpus)
        )
    })
}

/// First fit from a list in any order.
pub fn listed(random: &mut Random, tree: &Tree) -> Ask {
    let mut numbers: Vec<u32> = tree
        .machine
        .cpus()
        .iter()
        .map(|cpu| cpu.0)
        .chain(0..10)
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    random.shuffle(&mut numbers);
    let numbers: Vec<_> = numbers.iter().map(u32::to_string).collect();
    let limit = random.maybe(2, 1, 3);
    let limit = limit.map_or(String::new(), |most| format!(";MAX_CPU_PER_NODE={most}"));
    let count = random.within(1, 10);
    let text = format!("NCPUS={count};CPU_LIST={}{limit}", numbers.join(","));
    let mut ask = any(random, tree);
    ask.request.cpuset = Some(choosing(&text));
    ask.rules.cpuset_first_fit = true;
    ask
}

/// First fit gives the first free candidates, in the list's order.
pub fn first_of_list(case: &Case) -> Verdict {
    let (requested, count) = requested(case)?;
    let (all, node) = (case.tree.machine.cpus(), case.node());
    let distances = node.distances();
    let needed = count.min(all.count());
    let mut expected = CpuSet::new();
    for cpu in requested.cpu_list.as_ref()?.iter() {
        let is_free = all.contains(cpu) && !case.ask.claims.taken.contains(cpu);
        let home = distances.of_cpu(cpu).and_then(|at| distances.node(at));
        let used = home.map_or(0, |(_, cpus)| cpus.intersection(&expected).count() as u32);
        let has_room = used < requested.max_cpu_per_node.unwrap_or(u32::MAX);
        if is_free && has_room && expected.count() < needed {
            expected.insert(cpu);
        }
    }
    let found = case
        .answer()
        .map(|answer| answer.plan.cpuset.map(|set| set.cpus));
    let is_right = match &found {
        Ok(found) => found.as_ref() == Some(&expected),
        Err(_) => expected.count() < needed,
    };
    holds(is_right, || format!("{expected} is right: {found:?}"))
}

/// Tasks of every wish in an exclusive set.
pub fn of_any_wish(random: &mut Random, tree: &Tree) -> Ask {
    let text = format!(
        "NCPUS={};CPUSET_OPTIONS=CPUSET_CPU_EXCLUSIVE",
        random.within(1, 8)
    );
    let levels = [&LEVELS.map(Some)[..], &[None, None, None]].concat();
    let mut ask = plain(random, tree, &levels);
    let request = &mut ask.request;
    request.allocation = Allocation::Cpus(tree.machine.cpus().clone());
    request.tasks = random.within(1, 8);
    request.cpus_per_task = random.within(1, 3);
    request.overcommit = random.once_in(2);
    request.cpuset = Some(choosing(&text));
    match random.within(0, 5) {
        0 => request.cpu_bind.mode = Some(Mode::Free),
        1 => request.binding = "linear:1".parse().ok(),
        2 => request.binding = "auto".parse().ok(),
        _ => {}
    }
    ask.claims.cpusets = few_of(random, tree);
    ask
}

/// No task of any wish leaves its cpuset.
pub fn none_leaves(case: &Case) -> Verdict {
    let answer = case.answer().ok()?;
    let Some(set) = &answer.plan.cpuset else {
        return broken("there is no cpuset");
    };
    let whole = set.cpus == *case.tree.machine.cpus();
    let is_free = !set.cpus.is_empty() && !set.cpus.intersects(&case.ask.claims.cpusets);
    let is_inside = |mask: &CpuSet| mask.is_subset(&set.cpus) && (whole || !mask.is_empty());
    let are_inside = answer.plan.own.is_subset(&set.cpus) && answer.masks.iter().all(is_inside);
    holds(is_free && are_inside, || format!("{set:?}"))
}

pub fn reserving(random: &mut Random, tree: &Tree) -> Ask {
    let mut ask = any(random, tree);
    ask.request.allocation = Allocation::Cpus(some_of(random, tree.machine.cpus()));
    ask.request.reserved = few_of(random, tree);
    ask
}

/// A set has no reserved CPU as long as the job owns another one.
pub fn none_reserved(case: &Case) -> Verdict {
    let found = case.answer().ok()?.plan.cpuset?.cpus;
    let (own, reserved) = (&case.owned.cpus, &case.ask.request.reserved);
    let has_others = !own.difference(reserved).is_empty();
    let is_own = found.is_subset(own) && !found.intersects(&case.ask.claims.taken);
    let mut is_right = is_own && (!has_others || !found.intersects(reserved));
    let (requested, _) = requested(case)?;
    if requested.node_ex == Some(true) && has_others {
        let whole =
            |home: &CpuSet| !found.intersects(home) || home.difference(reserved).is_subset(&found);
        is_right &= homes(case.node().distances()).iter().all(whole);
    }
    holds(is_right, || {
        format!("{found} of {own} with {reserved} reserved")
    })
}
