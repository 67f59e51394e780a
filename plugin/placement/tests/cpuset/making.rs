//! Machines with NUMA distances, requests, and what a plan says of them.

use berth_placement::request::cpuset::{Choice, Dynamic};
use berth_placement::*;

pub(crate) fn set(list: &str) -> CpuSet {
    CpuSet::from_list(list).unwrap()
}

/// A machine by the cores of each NUMA node (`0,1 2,3` are two cores of two threads) and the distances.
pub(crate) fn machine(nodes: &[&str], distances: &[&[u32]]) -> Machine {
    let cores = |list: &str| -> Vec<Core> {
        let core = |core: &str| Core {
            pus: set(core).iter().collect(),
        };
        list.split(' ').map(core).collect()
    };
    let package = |list: &&str| Package { cores: cores(list) };
    let cpus =
        |list: &str| -> CpuSet { cores(list).into_iter().flat_map(|core| core.pus).collect() };
    let numa = |(id, list): (u32, &&str)| NumaNode {
        id: NumaId(id),
        cpus: cpus(list),
    };
    Machine::new(Parts {
        packages: nodes.iter().map(package).collect(),
        numa_nodes: (0..).zip(nodes).map(numa).collect(),
        allowed: nodes
            .iter()
            .flat_map(|list| cpus(list).iter().collect::<Vec<_>>())
            .collect(),
        numa_distances: distances.iter().map(|row| row.to_vec()).collect(),
        ..Parts::default()
    })
    .unwrap()
}

pub(crate) fn node(machine: Machine, rules: Rules) -> Node {
    Node::of(machine, SocketKind::Package, rules)
}

pub(crate) fn dynamic(text: &str) -> Dynamic {
    match text.parse() {
        Ok(CpusetRequest::Dynamic(requested)) => requested,
        other => panic!("{text}: {other:?}"),
    }
}

pub(crate) fn choosing(text: &str) -> Request {
    Request {
        cpuset: Some(StepCpuset::Choose(Choice {
            requested: dynamic(text),
            job_nodes: 1,
            is_count_typed: true,
        })),
        cpu_bind: CpuBind {
            mode: Some(Mode::Free),
            ..CpuBind::default()
        },
        ..Request::default()
    }
}

/// The chosen CPUs with their radius, or the refusal.
pub(crate) fn chosen(request: &Request, node: &Node, claims: &Claims) -> String {
    match plan(request, node, claims) {
        Ok(plan) => {
            let set = plan.cpuset.unwrap();
            format!("{} r{}", set.cpus, set.radius)
        }
        Err(why) => why.to_string(),
    }
}

/// Four NUMA nodes of two cores with two threads, in a ring: neighbours 16, opposite 22.
pub(crate) fn ring() -> Machine {
    machine(
        &["0,8 1,9", "2,10 3,11", "4,12 5,13", "6,14 7,15"],
        &[
            &[10, 16, 22, 16],
            &[16, 10, 16, 22],
            &[22, 16, 10, 16],
            &[16, 22, 16, 10],
        ],
    )
}

/// What a request gets on the ring, where others hold some CPUs.
pub(crate) fn on_ring(request: &str, taken: &str) -> String {
    let claims = Claims {
        taken: set(taken),
        ..Claims::default()
    };
    chosen(&choosing(request), &node(ring(), Rules::default()), &claims)
}
