//! `--cpuset` on any machine: as many CPUs of the step as are requested, and no smaller radius could
//! have held them, found by trying all sets of NUMA nodes.

use berth_placement::{CpuSet, ObjectKind};

use super::super::asking::plain;
use super::super::door::Ask;
use super::super::facts::Tree;
use super::super::harness::{Case, Law, Verdict};
use super::super::random::Random;

pub const INSIDE: Law = Law {
    name: "cpuset: it has as many CPUs of the step as requested, and tasks have no others",
    request: requested,
    holds: inside,
};

pub const SMALLEST: Law = Law {
    name: "cpuset: no smaller radius holds the number",
    request: requested,
    holds: smallest,
};

fn requested(random: &mut Random, tree: &Tree) -> Ask {
    let request = plain(random, tree, &[None, Some(super::super::door::LEVELS[1])]);
    let most = tree.owned(&request.own).count() as u32;
    let count = random.within(1, most.max(1));
    Ask {
        tasks: 1,
        cpus_per_task: 1,
        cpuset: Some((format!("NCPUS={count}"), count)),
        ..request
    }
}

fn inside(case: &Case) -> Verdict {
    let Some((_, count)) = case
        .request
        .cpuset
        .clone()
        .filter(|_| case.owned.count() > 0)
    else {
        return Verdict::Aside;
    };
    let answer = match case.answer() {
        Ok(answer) => answer,
        Err(why) => return Verdict::Broken(format!("refused: {why}")),
    };
    let Some((set, _)) = answer.cpuset else {
        return Verdict::Broken("there is no cpuset".into());
    };
    let holds = set.count() == count as usize
        && set.is_subset(&case.owned.cpus)
        && answer.masks.iter().all(|mask| mask.is_subset(&set));
    Verdict::when(holds, || {
        format!(
            "{count} of {}: {set}, tasks {:?}",
            case.owned.cpus, answer.masks
        )
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

/// These machines have no distances: 0 is a NUMA node, 1 the package, 2 the machine.
fn smallest(case: &Case) -> Verdict {
    let (Some((_, count)), nodes) = (case.request.cpuset.clone(), nodes(case.tree)) else {
        return Verdict::Aside;
    };
    let (Ok(answer), true) = (case.answer(), nodes.len() <= 10) else {
        return Verdict::Aside;
    };
    let Some((set, radius)) = answer.cpuset else {
        return Verdict::Broken("there is no cpuset".into());
    };
    if !case.tree.machine.parts().numa_distances.is_empty() {
        return Verdict::Aside;
    }
    let packages = case.tree.machine.objects(ObjectKind::Package);
    let package = |node: &CpuSet| {
        packages
            .iter()
            .position(|cpus| node.lowest().is_some_and(|cpu| cpus.contains(cpu)))
    };
    let best = (1_u32..1 << nodes.len()).filter_map(|bits| {
        let members = (0..).zip(&nodes).filter(|(at, _)| bits >> at & 1 == 1);
        let members: Vec<_> = members.map(|(_, node)| node).collect();
        let offers = members
            .iter()
            .map(|node| node.intersection(&case.owned.cpus).count());
        let holds = offers.clone().sum::<usize>() >= count as usize
            && offers.clone().all(|offer| offer > 0);
        let together = members
            .iter()
            .all(|node| package(node) == package(members[0]));
        let radius = match (members.len(), together) {
            (1, _) => 0,
            (_, true) => 1,
            (_, false) => 2,
        };
        holds.then_some(radius)
    });
    let best = best.min();
    Verdict::when(best == Some(radius), || {
        format!(
            "{set} has radius {radius}, and {best:?} holds {count} of {}",
            case.owned.cpus
        )
    })
}
