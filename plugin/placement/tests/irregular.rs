//! Machines that are not sockets × cores × threads, as facts: machine, request, masks.

mod tree;

use std::collections::BTreeSet;

use berth_placement::{CpuSet, SocketKind};
use tree::door::{Answer, Ask, answer};
use tree::facts::Tree;
use tree::harness::{Case, Verdict};
use tree::laws;
use tree::written::machine;

/// `pack:2 core:4 pu:2` without its last hardware thread (`--restrict 0x7fff`).
const SIBLING_OFFLINE: &str = "0,1 2,3 4,5 6,7 | 8,9 10,11 12,13 14";

/// `pack:2 core:4 pu:2` without its last hardware thread, numbered with the second threads after all cores.
const SIBLING_OFFLINE_LAST: &str = "0,8 1,9 2,10 3,11 | 4,12 5,13 6,14 7";

/// A core of the second socket is offline.
const CORE_OFFLINE: &str = "0,1 2,3 4,5 6,7 | 8,9 12,13 14,15";

/// Four cores with two threads and eight with one.
const HYBRID: &str = "0,1 2,3 4,5 6,7 8 9 10 11 12 13 14 15";

/// The small cores first.
const SMALL_FIRST: &str = "0 1 2 3 | 4,5 6,7 8,9 10,11";

/// Sixteen CPUs whose numbers go to 30: slurmd's map of it is a permutation of 0–15.
const GAPS: &str = "0,16 4,20 8,24 12,28 | 2,18 6,22 10,26 14,30";

fn requested(machine_line: &str, request: &str) -> Result<Answer, String> {
    let ask: Ask = request.parse().unwrap_or_else(|why| panic!("{why}"));
    answer(&ask, &machine(machine_line), SocketKind::Package)
}

fn served(machine_line: &str, request: &str) -> Answer {
    let answer = requested(machine_line, request);
    answer.unwrap_or_else(|why| panic!("{machine_line}: {request}: {why}"))
}

/// Masks as lists, parted by blanks.
fn gives(machine_line: &str, request: &str, masks: &str) {
    let got = served(machine_line, request).masks;
    let got: Vec<String> = got.iter().map(ToString::to_string).collect();
    assert_eq!(got.join(" "), masks, "{machine_line}: {request}");
}

/// Every CPU of the machine, each in exactly one mask.
fn each_cpu_once(machine_line: &str, request: &str) {
    let masks = served(machine_line, request).masks;
    let all: Vec<_> = masks.iter().flat_map(CpuSet::iter).collect();
    let distinct: BTreeSet<_> = all.iter().copied().collect();
    let there: BTreeSet<_> = machine(machine_line).cpus().iter().collect();
    assert_eq!(distinct, there, "{machine_line}: {request}");
    assert_eq!(
        all.len(),
        distinct.len(),
        "{machine_line}: {request}: {masks:?}"
    );
}

#[test]
fn fifteen_tasks_on_fifteen_threads() {
    for machine in [SIBLING_OFFLINE, SIBLING_OFFLINE_LAST] {
        for order in tree::asking::DISTRIBUTIONS {
            each_cpu_once(machine, &format!("-n15 -m {order} --cpu-bind=threads"));
        }
        each_cpu_once(machine, "-n15");
        each_cpu_once(machine, "-n8 --cpu-bind=cores");
    }
    let block = "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14";
    gives(SIBLING_OFFLINE, "-n15 --cpu-bind=threads", block);
    let cyclic = "0 8 1 9 2 10 3 11 4 12 5 13 6 14 7";
    gives(
        SIBLING_OFFLINE,
        "-n15 -m block:cyclic --cpu-bind=threads",
        cyclic,
    );
    let cores = "0,8 4,12 1,9 5,13 2,10 6,14 3,11 7";
    gives(
        SIBLING_OFFLINE_LAST,
        "-n8 -m block:cyclic --cpu-bind=cores",
        cores,
    );
    gives(
        SIBLING_OFFLINE,
        "-n2 --cores=6-7/8 --cpu-bind=cores",
        "12-13 14",
    );
}

/// A round takes a wide core once: the socket with fewer tasks gets the last one, not the other one whose limit is raised.
#[test]
fn a_limit_is_exceeded_evenly_where_tasks_share_wide_cores() {
    let sockets = "4,20,24,28 1,5,9,21 | 2,6,14,18,26,30 3,19";
    for order in ["cyclic:block", "block:cyclic", "block:block"] {
        let request = format!("-n14 -m {order} --cpu-bind=cores --ntasks-per-socket=2");
        let masks = served(sockets, &request).masks;
        let first = CpuSet::from_list("1,4-5,9,20-21,24,28").unwrap();
        let count = masks.iter().filter(|mask| mask.intersects(&first)).count();
        assert_eq!(count, 7, "{order}: {masks:?}");
    }
}

/// Slurm resets `CPUs=15` of such a machine, which is no product of its counts, to the number of cores: that
/// says nothing of the threads that a core has.
#[test]
fn fifteen_cpus_that_slurm_resets_to_eight() {
    for line in [SIBLING_OFFLINE, SIBLING_OFFLINE_LAST, HYBRID] {
        for request in [
            "-n15 -O --cpu-bind=threads",
            "-n4 --cpu-bind=threads -m block:block",
            "-n3 -c2 --cpu-bind=threads -m block:cyclic",
            "-n2 -c3 --cpu-bind=cores -m block:fcyclic",
            "-n3 --binding=linear:2",
            "-n15",
        ] {
            let mut ask: Ask = request.parse().unwrap_or_else(|why| panic!("{why}"));
            let counted = answer(&ask, &machine(line), SocketKind::Package);
            ask.counts_cores = true;
            let reset = answer(&ask, &machine(line), SocketKind::Package);
            assert_eq!(reset, counted, "{line}: {request}");
        }
    }
    // Where slurmd counts several threads a core, `CPUs=` says that one of them is meant.
    let regular = machine("0,1 2,3 | 4,5 6,7");
    let mut ask: Ask = "-n4 --cpu-bind=threads".parse().unwrap();
    ask.counts_cores = true;
    let one_each = answer(&ask, &regular, SocketKind::Package).unwrap();
    let masks: Vec<_> = one_each.masks.iter().map(ToString::to_string).collect();
    assert_eq!(masks.join(" "), "0 2 4 6");
}

#[test]
fn a_machine_of_eight_cores_hands_out_eight() {
    for machine in [SIBLING_OFFLINE, SIBLING_OFFLINE_LAST] {
        each_cpu_once(machine, "-n4 --binding=linear:2");
        each_cpu_once(machine, "-n8 --binding=striding:1:1");
        let five = served(machine, "-n5 --binding=linear:2");
        assert!(five.masks.iter().all(|mask| mask.count() == 15), "{five:?}");
        assert!(!five.notes.is_empty());
        assert!(requested(machine, "-n5 --binding=strict:linear:2").is_err());
    }
    gives(SIBLING_OFFLINE, "-n1 --binding=linear:1:1,3", "14");
    gives(SIBLING_OFFLINE, "-n1 --binding=explicit:1,3:0,1", "2-3,14");
    gives(
        HYBRID,
        "-n6 --binding=linear:2",
        "0-3 4-7 8-9 10-11 12-13 14-15",
    );
}

#[test]
fn a_core_less_makes_the_sockets_uneven() {
    gives(
        CORE_OFFLINE,
        "-n2 --cpu-bind=sockets -m block:cyclic",
        "0-7 8-9,12-15",
    );
    gives(
        CORE_OFFLINE,
        "-n7 --cpu-bind=cores",
        "0-1 2-3 4-5 6-7 8-9 12-13 14-15",
    );
    let cyclic = "0-1 8-9 2-3 12-13 4-5 14-15 6-7";
    gives(CORE_OFFLINE, "-n7 --cpu-bind=cores -m block:cyclic", cyclic);
    gives(CORE_OFFLINE, "-n1 --binding=linear:3:1,0", "8-9,12-15");
    gives(CORE_OFFLINE, "-n1 --binding=linear:4", "0-7");
}

#[test]
fn cores_of_two_kinds() {
    each_cpu_once(HYBRID, "-n12 --cpu-bind=cores");
    each_cpu_once(HYBRID, "-n12");
    each_cpu_once(HYBRID, "-n16 --cpu-bind=threads");
    each_cpu_once(HYBRID, "-n16");
    each_cpu_once(HYBRID, "-n8 -c2 --cpu-bind=threads");
    gives(HYBRID, "-n6 --cpu-bind=cores", "0-1 2-3 4-5 6-7 8 9");
    gives(
        HYBRID,
        "-n4 -c2 --cpu-bind=cores --cores=2-7/12",
        "4-5 6-7 8-9 10-11",
    );
    gives(
        SMALL_FIRST,
        "-n8 --cpu-bind=cores -m block:cyclic",
        "0 4-5 1 6-7 2 8-9 3 10-11",
    );
    // One thread of each core, whatever their number.
    gives(
        HYBRID,
        "-n12 --one-thread --cpu-bind=threads",
        "0 2 4 6 8 9 10 11 12 13 14 15",
    );
}

#[test]
fn no_cpu_that_is_not_there() {
    for request in [
        "-n16 --cpu-bind=threads",
        "-n8 --cpu-bind=cores",
        "-n2 --cpu-bind=sockets -m block:cyclic",
        "-n16",
        "-n8 --binding=linear:1",
    ] {
        each_cpu_once(GAPS, request);
    }
    gives(
        GAPS,
        "-n3 --cpu-bind=cores --cores=3-5/8",
        "12,28 2,18 6,22",
    );
    gives(
        GAPS,
        "-n2 -c4 --binding=explicit:0,1:1,0",
        "2,4,18,20 2,4,18,20",
    );
}

#[test]
fn what_is_not_permitted_is_left_out() {
    let machine = "0,1 2,3 | 4,5 6,7; allowed 0-2,6-7";
    gives(machine, "-n3 --cpu-bind=cores", "0-1 2 6-7");
    gives(machine, "-n5 --cpu-bind=threads", "0 1 2 6 7");
    // What slurmd is permitted says nothing of the cores of a credential.
    gives(machine, "-n2 --cpu-bind=cores --cores=1-3/4", "2-3 4-5");
}

#[test]
fn a_limit_that_cannot_hold_is_exceeded_evenly() {
    let machine = "0,1 2,3 4,5 6,7 | 8,9 10,11 12,13 14,15";
    for order in ["block:block", "block:cyclic", "block:fcyclic"] {
        let request = format!("-n8 --cpu-bind=cores --ntasks-per-socket=2 -m {order}");
        each_cpu_once(machine, &request);
        assert!(!served(machine, &request).notes.is_empty(), "{request}");
    }
    let sharing = served(machine, "-n16 --one-thread --cpu-bind=threads");
    assert!(
        !sharing.notes.is_empty(),
        "16 tasks on one thread of each of 8 cores"
    );
}

#[test]
fn a_remainder_that_is_lacking_is_said() {
    for (machine, request) in [
        ("0,1 2,3 | 4,5 6,7", "-n3 -c3 --cpu-bind=threads"),
        ("0,1 2 | 3,4 5", "-n3 -c2 --cpu-bind=cores"),
        ("0,1 2", "-n1 -c4 --cpu-bind=cores"),
    ] {
        let answer = served(machine, request);
        let requested: Ask = request.parse().unwrap_or_else(|why| panic!("{why}"));
        let wide = |mask: &CpuSet| mask.count() >= requested.cpus_per_task as usize;
        let told = answer.masks.iter().all(wide) || !answer.notes.is_empty();
        assert!(told, "{machine}: {request}: {answer:?}");
    }
}

/// Cases that a law failed in once, as the random tests reported them.
#[test]
fn cases_that_once_failed() {
    let cases = [
        (
            laws::room::THREADS_APART,
            "1,4 | 2",
            "-n3 -c2 -m block:block:cyclic --cpu-bind=threads",
        ),
        (
            laws::room::CORES_APART,
            "0,1 3 | 4,5 7",
            "-n3 --cpu-bind=cores --cpus=1,3-5",
        ),
        (
            laws::own::ONLY_PRESENT,
            "1",
            "-n1 -c3 --one-thread -O --cores=0/1",
        ),
        (laws::automatic::EXACT, "33 | 18; memory 1=33 2=18", "-n1"),
        (
            laws::own::SOMEWHERE,
            "9,1,3,6 4 2 | 0,15,5,17 7 8 | 14,11,13,10 16 12; memory 0=1,3,6,9 1=4 2=2 3=0,5,15,17 4=7 5=8 6=10-11,13-14 7=16 8=12",
            "-n10 -c2 --cpu-bind=ldoms --cores=2-8/9",
        ),
    ];
    for (law, line, request) in cases {
        let tree = Tree::new(machine(line), SocketKind::Package);
        let ask: Ask = request.parse().unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(ask, ask.to_string().parse().unwrap(), "{request}");
        if let Verdict::Broken(what) = (law.holds)(&Case::new(&tree, ask, 1)) {
            panic!("{}: {what}\nmachine {line}\nrequest {request}", law.name);
        }
    }
}
