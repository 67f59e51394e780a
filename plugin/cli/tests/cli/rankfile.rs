//! A rank file numbers a node's cores as Open MPI does, and says so where the job may have less than the node.
use crate::plan_common::berth;

const HYBRID: &str = "--machine=../../tests/topologies/hybrid-2x6.xml";
const PLAIN: &str = "--machine=pack:2 core:4 pu:2";

/// The rank file: whether a comment says how cores are numbered, and the slots of the ranks.
fn slots(words: &[&str]) -> (bool, Vec<String>) {
    let all = [&["plan", "--format=rankfile", "--cpu-bind=cores"], words].concat();
    let done = berth(&all, "");
    assert_eq!(done.code, 0, "{words:?}: {}", done.stderr);
    let comment = done
        .stdout
        .contains("# cores have their numbers on the whole node");
    let slots = done
        .stdout
        .lines()
        .filter_map(|line| line.split_once("slot="));
    (comment, slots.map(|(_, slot)| slot.to_string()).collect())
}

/// Open MPI sees the efficiency cores that slurmd leaves out.
#[test]
fn cores_that_slurmd_leaves_out_have_numbers_too() {
    let (_, counted) = slots(&[
        HYBRID,
        "--cores=all",
        "-n4",
        "--allow-ecores",
        "--core-kind=performance",
    ]);
    let (comment, left_out) = slots(&[HYBRID, "--cores=all", "-n4"]);
    assert_eq!(counted, left_out);
    assert!(left_out.contains(&"6".to_string()), "{left_out:?}");
    assert!(comment, "slurmd does not give all cores away");
}

#[test]
fn a_part_of_a_node_is_said() {
    for (words, part) in [
        (&["--cores=all", "-n4"][..], false),
        (&["--exclusive", "-n8"], false),
        (&["-n4"], true),
        (&["--cores=0-3", "-n4"], true),
        (&["--cpus=0-7", "-n4"], true),
        (&["--job=salloc -n8", "srun -n4 ./a"], true),
    ] {
        let (comment, _) = slots(&[&[PLAIN], words].concat());
        assert_eq!(comment, part, "{words:?}");
    }
}
