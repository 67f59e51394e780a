//! Machines where Slurm's cgroups lack CPUs of a step's cores (`ConstrainCores=yes`), and machines
//! whose efficiency cores slurmd leaves out, as facts: machine, request, masks.

mod tree;

use berth_placement::{Allocation, Claims, CoreIdx, Fixes, Node, Request, Rules, SocketKind, plan};
use tree::door::{Answer, Ask, answer};
use tree::written::machine;

/// Fifteen CPUs: slurmd counts one of each core.
const SIBLING_OFFLINE: &str = "0,1 2,3 4,5 6,7 | 8,9 10,11 12,13 14";

/// The first thread of the third core is offline: it is the second one that slurmd counts.
const FIRST_OFFLINE: &str = "0,1 2,3 5 6,7 | 8,9 10,11 12,13 14,15";

/// A core of the second socket is offline: slurmd counts three cores in each.
const CORE_OFFLINE: &str = "0,1 2,3 4,5 6,7 | 8,9 12,13 14,15";

const HYBRID: &str = "0,1 2,3 4,5 6,7 8 9 10 11 12 13 14 15";

/// slurmd's map of it has a CPU of its own for each core, and one that does not exist.
const GAPS: &str = "0,16 4,20 8,24 12,28 | 2,18 6,22 10,26 14,30";

/// slurmd's map: 0 2 4 6, and then 4 5 6 7 instead of 8 10 12 14.
const EVERY_SECOND: &str = "0 2 4 6 8 10 12 14";

fn constrained(line: &str, request: &str) -> Result<Answer, String> {
    let mut ask: Ask = request.parse().unwrap_or_else(|why| panic!("{why}"));
    ask.constrain_cores = true;
    answer(&ask, &machine(line), SocketKind::Package)
}

fn gives(line: &str, request: &str, masks: &str) -> Vec<String> {
    let got = constrained(line, request).unwrap_or_else(|why| panic!("{line}: {request}: {why}"));
    let each: Vec<String> = got.masks.iter().map(ToString::to_string).collect();
    assert_eq!(each.join(" "), masks, "{line}: {request}");
    got.notes
}

#[test]
fn one_thread_of_each_core_is_all_that_there_is() {
    let each = "0 2 4 6 8 10 12 14";
    for request in [
        "-n8",
        "-n8 --cpu-bind=threads",
        "-n8 --cpu-bind=cores",
        "-n8 --binding=linear:1",
        "-n8 --cores=0-7/8 --cpu-bind=threads",
    ] {
        gives(SIBLING_OFFLINE, request, each);
    }
    gives(
        SIBLING_OFFLINE,
        "-n4 -c2 --cpu-bind=cores",
        "0,2 4,6 8,10 12,14",
    );
    gives(
        SIBLING_OFFLINE,
        "-n4 --binding=linear:2",
        "0,2 4,6 8,10 12,14",
    );
    gives(
        SIBLING_OFFLINE,
        "-n2 --cpu-bind=sockets -m block:cyclic",
        "0,2,4,6 8,10,12,14",
    );
    gives(
        SIBLING_OFFLINE,
        "-n3 --cores=1-3/8 --cpu-bind=threads -m block:block",
        "2 4 6",
    );
    gives(
        FIRST_OFFLINE,
        "-n8 --cpu-bind=threads",
        "0 2 5 6 8 10 12 14",
    );
    gives(
        HYBRID,
        "-n12 --cpu-bind=threads",
        "0 2 4 6 8 9 10 11 12 13 14 15",
    );
    let beyond = constrained(SIBLING_OFFLINE, "-n9 --cpu-bind=threads");
    assert!(beyond.is_err(), "Slurm grants eight: {beyond:?}");
    gives(SIBLING_OFFLINE, "-n1 -O --cores=3/8 --cpu-bind=cores", "6");
}

#[test]
fn whole_cores_stay_whole() {
    gives(
        CORE_OFFLINE,
        "-n6 --cores=0-5/6 --cpu-bind=cores",
        "0-1 2-3 4-5 6-7 8-9 12-13",
    );
    gives(
        "0,1 2,3 | 4,5 6,7",
        "-n4 --cpu-bind=cores -m block:block",
        "0-1 2-3 4-5 6-7",
    );
}

/// Slurm grants two CPUs of each core, and the cgroup has one.
#[test]
fn a_cgroup_with_fewer_cpus_than_granted_is_shared() {
    gives(GAPS, "-n8 --cpu-bind=cores", "0 4 8 12 2 6 10 14");
    let shared = "0,2,4,6,8,10,12,14";
    let notes = gives(
        GAPS,
        "-n16 --cpu-bind=threads --cores=0-7/8",
        &[shared; 16].join(" "),
    );
    assert!(notes.concat().contains("share 8 CPUs"), "{notes:?}");
    gives(GAPS, "-n1 --cores=5/8 --cpu-bind=threads", "6");
}

#[test]
fn a_cgroup_without_any_cpu_of_the_cores() {
    // The cgroup has another core's CPU, and the kernel allows no other.
    gives(EVERY_SECOND, "-n1 --cores=4/8", "4");
    gives(EVERY_SECOND, "-n1 --cores=4/8 --cpu-bind=cores", "4");
    // All CPUs of the cgroup are offline, so the kernel takes the one above.
    gives(EVERY_SECOND, "-n1 --cores=5/8 --cpu-bind=cores", "10");
    // Those cores of a step that have a CPU serve all of its tasks.
    gives(EVERY_SECOND, "-n2 --cores=3,5/8 --cpu-bind=cores", "6 6");
}

/// `compat=affinity` follows slurmd's map, and so do Slurm's cgroups.
#[test]
fn task_affinity_is_not_touched() {
    for line in [SIBLING_OFFLINE, CORE_OFFLINE, HYBRID, GAPS, EVERY_SECOND] {
        let node = |constrain_cores| {
            let rules = Rules {
                fixes: Fixes::NONE,
                constrain_cores,
                ..Rules::default()
            };
            Node::of(machine(line), SocketKind::Package, rules)
        };
        let cpus = |node: &Node| node.table().numbered().collect::<Vec<_>>();
        assert_eq!(cpus(&node(true)), cpus(&node(false)), "{line}");
        assert_eq!(node(true).outside_cgroups(), None, "{line}");
        for tasks in 1..9 {
            let ask = Request {
                tasks,
                allocation: Allocation::Cores {
                    cores: (1..8).map(CoreIdx).collect(),
                    configured: 8,
                },
                ..Request::default()
            };
            let plan = |node: &Node| plan(&ask, node, &Claims::default());
            assert_eq!(plan(&node(true)), plan(&node(false)), "{line}: {tasks}");
        }
    }
}
