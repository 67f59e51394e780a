//! The rules of a job's cores on a node, as slurmctld 22.05 has them.

use berth_placement::controller::select::SlurmLine;

use crate::world::{core, gives, world};

#[test]
fn cores_are_taken_in_turn_unless_the_second_level_says_block() {
    let world = core("2x4x1");
    for middle in [
        "",
        "-m block",
        "-m cyclic:cyclic",
        "-m block:fcyclic",
        "-m block:*",
    ] {
        let line = format!("srun -n3 {middle}");
        assert_eq!(world.job(&line), "granted n1=0-1,4:3", "{line}");
    }
    for middle in ["-m block:block", "-m plane=2", "-m cyclic:block:cyclic"] {
        let line = format!("srun -n3 {middle}");
        assert_eq!(world.job(&line), "granted n1=0-2:3", "{line}");
    }
}

#[test]
fn the_default_can_be_block() {
    let world = world(
        SlurmLine::V22_05,
        "CR_Core,CR_CORE_DEFAULT_DIST_BLOCK",
        "2x4x1",
    );
    gives(
        &world,
        &[
            ("srun -n3", "granted n1=0-2:3"),
            ("srun -n3 -m cyclic", "granted n1=0-2:3"),
            ("srun -n3 -m block:*", "granted n1=0-1,4:3"),
        ],
    );
}

#[test]
fn a_block_takes_the_smallest_socket_that_holds_it() {
    let world = core("3x4x1").special("0,4-5");
    gives(
        &world,
        &[
            ("srun -n2 -m block:block", "granted n1=6-7:2"),
            ("srun -n3 -m block:block", "granted n1=1-3:3"),
            ("srun -n4 -m block:block", "granted n1=8-11:4"),
            ("srun -n5 -m block:block", "granted n1=1,8-11:5"),
        ],
    );
}

#[test]
fn whole_tasks_are_placed_socket_by_socket() {
    let world = core("2x4x1");
    gives(
        &world,
        &[
            ("srun -n2 -c3", "granted n1=0-2,4-6:6"),
            ("srun -n1 -c3", "granted n1=0-2:3"),
            ("srun -n2 -c2", "granted n1=0-3:4"),
        ],
    );
}

#[test]
fn cpus_are_handed_out_by_cores_and_counted_by_cpus() {
    let world = world(SlurmLine::V22_05, "CR_CPU", "2x2x2");
    gives(
        &world,
        &[
            ("srun -n1", "granted n1=0:1"),
            ("srun -n3", "granted n1=0-1:3"),
        ],
    );
}
