//! Which CPUs a cpuset has whose CPUs went offline, or that others use.

use berth_placement::{Core, CpuId, Machine, NumaId, NumaNode, Package, Parts, Rules, SocketKind};
use slurm_sys::Symbols;
use slurm_sys::layout::Layout;

use super::*;

fn set(list: &str) -> CpuSet {
    CpuSet::from_list(list).unwrap()
}

/// Two NUMA nodes of two cores: 0-1 and 2-3.
fn node() -> Node {
    let core = |cpu| Core {
        pus: vec![CpuId(cpu)],
    };
    let package = |first| Package {
        cores: vec![core(first), core(first + 1)],
    };
    let numa = |(id, cpus)| NumaNode {
        id: NumaId(id),
        cpus: set(cpus),
    };
    let machine = Machine::new(Parts {
        packages: vec![package(0), package(2)],
        numa_nodes: [(0, "0-1"), (1, "2-3")].map(numa).to_vec(),
        allowed: (0..4).map(CpuId).collect(),
        numa_distances: vec![vec![10, 20], vec![20, 10]],
        ..Parts::default()
    });
    Node::of(machine.unwrap(), SocketKind::Package, Rules::default())
}

/// The node as a step finds it.
#[derive(Clone, Copy)]
struct Here {
    asked: &'static str,
    own: &'static str,
    online: &'static str,
    /// In the cgroups of other jobs that run.
    others: &'static str,
    /// In their cpusets, and what of that is exclusive.
    held: (&'static str, &'static str),
}

const HERE: Here = Here {
    asked: "CPUSET[]",
    own: "0-3",
    online: "0-3",
    others: "",
    held: ("", ""),
};

/// What a cpuset gets that had CPUs 0-1.
fn chosen(here: Here, accepts: Accepts) -> String {
    let asked: CpusetRequest = here.asked.parse().unwrap();
    let CpusetRequest::Dynamic(asked) = asked else {
        panic!("{asked:?}");
    };
    let cpuset = Cpuset {
        asked,
        cpus: set("0-1"),
        step: StepKey::default(),
        of_job: true,
        is_debugged: false,
        node_name: "n1".into(),
        slurm: Abi {
            layout: &Layout::all()[0],
            symbols: Symbols::get(),
        },
        job_cores: String::new(),
    };
    let seen = Seen {
        own: set(here.own),
        reach: set(here.own),
        free: set(here.online).difference(&set(here.others)),
        node: node(),
        online: here.online.into(),
        scope: None,
        others: Vec::new(),
    };
    let held = (set(here.held.0), set(here.held.1));
    match cpuset.chosen(&seen, (&set("0-1"), accepts), &held) {
        Some((cpus, false)) => cpus.to_string(),
        Some((cpus, true)) => format!("{cpus} shared"),
        None => "none".into(),
    }
}

#[test]
fn a_cpu_that_is_offline_gets_a_substitute() {
    let offline = Here {
        online: "0,2-3",
        ..HERE
    };
    assert_eq!(chosen(offline, Accepts::Free), "2-3");
    // One of the two NUMA nodes is another job's.
    let one_is_free = Here {
        others: "3",
        ..offline
    };
    assert_eq!(chosen(one_is_free, Accepts::Free), "0,2");
    // It is back.
    assert_eq!(chosen(HERE, Accepts::Free), "0-1");
}

/// The cpuset keeps its CPUs in name. Its tasks run on what is left of them, and have the others once these are back.
#[test]
fn without_a_substitute_the_rest_is_kept() {
    let offline = Here {
        online: "0,2-3",
        ..HERE
    };
    for (here, why) in [
        (
            Here {
                own: "0-1",
                ..offline
            },
            "the job owns no others",
        ),
        (
            Here {
                others: "2-3",
                ..offline
            },
            "other jobs run there",
        ),
        (
            Here {
                held: ("2-3", "2-3"),
                ..offline
            },
            "other jobs hold them",
        ),
        (
            Here {
                online: "0",
                ..HERE
            },
            "all others are offline too",
        ),
        (
            Here {
                asked: "RESUME_OPTION=ORIG_CPUS",
                ..offline
            },
            "it is to stay at its NUMA node",
        ),
    ] {
        for accepts in [Accepts::Free, Accepts::Shared, Accepts::Original] {
            assert_eq!(chosen(here, accepts), "0-1", "{why}, {accepts:?}");
        }
    }
}

#[test]
fn nothing_is_chosen_where_nothing_is_left() {
    let all_gone = Here {
        own: "0-1",
        online: "2-3",
        ..HERE
    };
    // What is left is another job's.
    let rest_is_used = Here {
        own: "0-1",
        online: "0,2-3",
        others: "0",
        ..HERE
    };
    for here in [all_gone, rest_is_used] {
        assert_eq!(chosen(here, Accepts::Free), "none");
        assert_eq!(chosen(here, Accepts::Original), "none");
    }
    assert_eq!(chosen(rest_is_used, Accepts::Shared), "0-1 shared");
    let exclusive = Here {
        held: ("0", "0"),
        ..rest_is_used
    };
    assert_eq!(chosen(exclusive, Accepts::Shared), "none");
}

/// While it is hoped that another job stops, only the own CPUs count.
#[test]
fn others_that_use_its_cpus_are_given_time() {
    let used = Here {
        others: "1",
        ..HERE
    };
    assert_eq!(chosen(used, Accepts::Original), "none");
    assert_eq!(chosen(used, Accepts::Free), "2-3");
    assert_eq!(chosen(used, Accepts::Shared), "2-3");
}
