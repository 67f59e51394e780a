//! The rules of a job's request and nodes, one after another, as slurmctld 22.05 has them.

use berth_placement::controller::select::{SlurmLine, Specialised};

use crate::world::{World, core, gives, world};

#[test]
fn salloc_multiplies_what_is_given_and_srun_only_a_whole_shape() {
    let world = core("2x2x1, 2x2x1");
    gives(
        &world,
        &[
            ("salloc -N2 -B2:1", "granted n1=0-2:3 n2=0:1"),
            ("srun -N2 -B2:1", "granted n1=0:1 n2=0:1"),
            ("srun -N2 -B2:2:1", "granted n1=0-3:4 n2=0-3:4"),
            (
                "salloc -N2 --ntasks-per-node=3",
                "granted n1=0-2:3 n2=0-2:3",
            ),
        ],
    );
    assert_eq!(world.grant("salloc -N2 -B2:1").tasks, 4);
}

#[test]
fn a_range_of_nodes_wants_the_most_and_no_more_than_the_tasks() {
    let world = core("1x2x1, 1x2x1, 1x2x1");
    gives(
        &world,
        &[
            ("salloc -n1 -N3", "granted n1=0:1"),
            ("salloc -n2 -N1-3", "granted n1=0:1 n2=0:1"),
            ("salloc -n3 -N1-3", "granted n1=0:1 n2=0:1 n3=0:1"),
            ("salloc -n2 -N1-3 --use-min-nodes", "granted n1=0-1:2"),
            ("salloc -n2 -w n2,n3", "granted n2=0:1 n3=0:1"),
        ],
    );
}

#[test]
fn srun_forgets_tasks_per_node_that_do_not_fit_the_tasks() {
    let world = core("1x4x1, 1x4x1");
    gives(
        &world,
        &[
            ("srun -n4 -N2", "granted n1=0-2:3 n2=0:1"),
            (
                "srun -n4 -N2 --ntasks-per-node=3",
                "granted n1=0-2:3 n2=0:1",
            ),
            (
                "salloc -n4 -N2 --ntasks-per-node=3",
                "granted n1=0-2:3 n2=0-2:3",
            ),
        ],
    );
}

#[test]
fn hints_forget_the_shape_and_yield_to_other_options() {
    let world = core("2x4x2");
    gives(
        &world,
        &[
            ("srun -n4 --hint=nomultithread", "granted n1=0-1,4-5:8"),
            ("srun -n4", "granted n1=0,4:4"),
            (
                "srun -n4 --hint=nomultithread --threads-per-core=2",
                "granted n1=0,4:4",
            ),
            ("srun -n1 --sockets-per-node=3", "refused"),
            (
                "srun -n1 --sockets-per-node=3 --hint=compute_bound",
                "granted n1=0:2",
            ),
        ],
    );
}

#[test]
fn of_two_limits_for_a_core_the_lower_one_holds() {
    let world = core("2x2x2");
    gives(
        &world,
        &[
            (
                "srun -n3 --ntasks-per-core=1 --threads-per-core=2",
                "granted n1=0-2:6",
            ),
            (
                "srun -n2 --ntasks-per-core=2 --threads-per-core=1",
                "granted n1=0,2:4",
            ),
        ],
    );
}

#[test]
fn whole_nodes_count_all_threads_again_where_cores_or_sockets_are_selected() {
    let line = "srun -N2 -n2 --exclusive --threads-per-core=1";
    for (select, answer) in [
        ("CR_CPU", "granted n1=0-3:4 n2=0-3:4"),
        ("CR_Core", "granted n1=0-3:8 n2=0-3:8"),
        ("CR_Socket", "granted n1=0-3:8 n2=0-3:8"),
    ] {
        let world = world(SlurmLine::V22_05, select, "2x2x2, 2x2x2");
        assert_eq!(world.job(line), answer, "{select}");
    }
}

#[test]
fn a_node_to_which_a_plane_leaves_no_task_keeps_its_cores_and_counts_none() {
    let world = core("2x2x2, 1x2x1");
    assert_eq!(
        world.job("srun -N1-2 -n2 -m plane=2"),
        "granted n1=0:2 n2=0-1:0"
    );
}

#[test]
fn one_task_a_core_is_for_who_gave_no_number() {
    let world = world(SlurmLine::V22_05, "CR_Core,CR_ONE_TASK_PER_CORE", "2x4x2");
    gives(
        &world,
        &[
            ("srun -n4", "granted n1=0-1,4-5:8"),
            ("srun -n4 --ntasks-per-core=2", "granted n1=0,4:4"),
            ("srun -n4 --hint=multithread", "granted n1=0,4:4"),
        ],
    );
}

#[test]
fn the_last_of_exclusive_and_shared_holds() {
    let world = core("1x4x1");
    gives(
        &world,
        &[
            ("srun -n1 --exclusive", "granted n1=0-3:4"),
            ("srun -n1 -s --exclusive", "granted n1=0-3:4"),
            ("srun -n1 --exclusive -s", "granted n1=0:1"),
        ],
    );
}

#[test]
fn a_node_must_have_the_shape_that_is_asked_for() {
    let world = core("2x2x1, 1x4x2");
    gives(
        &world,
        &[
            ("srun -n1 --sockets-per-node=2", "granted n1=0:1"),
            ("srun -n1 --cores-per-socket=4", "granted n2=0:2"),
            ("srun -n1 --threads-per-core=2", "granted n2=0:2"),
            ("srun -n1 --mincpus=5", "granted n2=0-2:6"),
            ("srun -n1 --mincpus=9", "refused"),
            ("srun -n1 --ntasks-per-socket=9", "refused"),
        ],
    );
}

#[test]
fn cores_with_one_cpu_count_one_thread() {
    let world = core("1x4x2 CPUs=4");
    assert_eq!(world.job("srun -n2"), "granted n1=0-1:2");
}

#[test]
fn a_node_must_have_the_memory() {
    let world = world(SlurmLine::V22_05, "CR_Core_Memory", "1x4x1 RealMemory=1000");
    gives(
        &world,
        &[
            ("srun -n1", "granted n1=0:1"),
            ("srun -n1 --mem=600", "granted n1=0:1"),
            ("srun -n3 --mem-per-cpu=300", "granted n1=0-2:3"),
            ("srun -n1 --mem=1001", "refused"),
        ],
    );
}

#[test]
fn special_cores_are_taken_from_the_last_socket_down() {
    let world = core("2x3x1 CoreSpecCount=3");
    assert_eq!(world.job("srun -n1 --exclusive"), "granted n1=0-1,3:3");
    let mut open = core("2x3x1 CoreSpecCount=1");
    assert_eq!(open.job("srun -n1 --core-spec=2"), "granted n1=0:1");
    open.cluster.select.allow_spec_usage = true;
    gives(
        &open,
        &[
            ("srun -n1 --core-spec=2", "granted n1=0-1,3-4:4"),
            ("srun -n1 --core-spec=0", "granted n1=0-5:6"),
        ],
    );
    open.cluster.nodes[0].specialised = Specialised::None;
    assert_eq!(open.job("srun -n1 --thread-spec=1"), "granted n1=0-4:5");
}

#[test]
fn whole_sockets_without_a_special_core_come_first() {
    let world = world(SlurmLine::V22_05, "CR_Socket", "2x2x1 CoreSpecCount=1");
    gives(
        &world,
        &[("srun -n1", "granted n1=0-1:2"), ("srun -n3", "refused")],
    );
}

#[test]
fn cores_per_socket_is_a_minimum_of_free_cores() {
    let world = core("2x3x1").special("0");
    gives(
        &world,
        &[
            ("srun -n1 --cores-per-socket=2", "granted n1=1:1"),
            ("srun -n1 --cores-per-socket=3", "granted n1=3:1"),
            (
                "srun -n1 --cores-per-socket=3 --sockets-per-node=2",
                "refused",
            ),
        ],
    );
}

#[test]
fn tasks_of_a_socket_limit_its_cpus() {
    let world = core("2x4x1");
    gives(
        &world,
        &[
            ("srun -n2 --ntasks-per-socket=1", "granted n1=0,4:2"),
            ("srun -n3 --ntasks-per-socket=2 -c2", "granted n1=0-2,4-6:6"),
            ("srun -n3 -N1 --ntasks-per-socket=1", "refused"),
        ],
    );
}

#[test]
fn the_lowest_weight_comes_first_then_the_first_node_that_holds_all() {
    gives(
        &core("1x4x1 Weight=2, 1x8x1, 1x2x1"),
        &[
            ("srun -n1", "granted n2=0:1"),
            ("srun -n4 -N1", "granted n2=0-3:4"),
            ("srun -n10", "granted n2=0-7:8 n3=0-1:2"),
            ("srun -n12", "granted n1=0-1:2 n2=0-7:8 n3=0-1:2"),
        ],
    );
    gives(
        &core("1x2x1, 1x4x1, 1x4x1"),
        &[
            ("srun -n4", "granted n2=0-3:4"),
            ("srun -n6", "granted n1=0-1:2 n2=0-3:4"),
            ("srun -n8 -N2", "granted n2=0-3:4 n3=0-3:4"),
            ("srun -n3 -N3", "granted n1=0:1 n2=0:1 n3=0:1"),
        ],
    );
}

#[test]
fn nodes_are_assumed_where_others_could_hold_the_job_too() {
    let world = core("1x4x1, 1x4x1, 1x2x1");
    let is_assumed = |line| world.grant(line).nodes_assumed;
    for line in ["srun -n1", "srun -n5", "srun -n4 -N2 -w n1", "srun -n4"] {
        assert!(is_assumed(line), "{line}");
    }
    for line in [
        "srun -n4 -w n2",
        "srun -n2 -w n1,n2",
        "srun -n10",
        "srun -n3 -N3",
        "srun -n3 -N1 -x n1",
    ] {
        assert!(!is_assumed(line), "{line}");
    }
}

#[test]
fn earlier_nodes_keep_back_one_core_for_each_node_to_come() {
    let world = core("2x8x1, 2x8x1");
    assert_eq!(world.job("srun -n6 -c2 -N2"), "granted n1=0-9:10 n2=0-1:2");
}

#[test]
fn a_spread_job_takes_as_many_nodes_as_allowed() {
    let world = core("1x4x1, 1x4x1, 1x4x1");
    gives(
        &world,
        &[
            ("srun -n3 --spread-job", "granted n1=0:1 n2=0:1 n3=0:1"),
            ("srun -n3", "granted n1=0-2:3"),
        ],
    );
    let later = crate::world::world(SlurmLine::V26_05, "CR_Core", "1x4x1, 1x4x1");
    gives(
        &later,
        &[
            ("srun -n3 --spread-job", "SpreadJob"),
            ("srun -n3 -N1 --spread-job", "granted n1=0-2:3"),
        ],
    );
}

#[test]
fn linear_gives_whole_nodes() {
    let conf = [
        "SelectType=select/linear",
        "NodeName=n1 Sockets=1 CoresPerSocket=2 ThreadsPerCore=2",
        "NodeName=n2 Sockets=1 CoresPerSocket=2 ThreadsPerCore=2",
    ];
    let world = World::new(SlurmLine::V22_05, conf);
    gives(
        &world,
        &[
            ("srun -n1", "granted n1=0-1:4"),
            ("srun -n5", "granted n1=0-1:4 n2=0-1:4"),
        ],
    );
}

/// A job without a wish for memory: slurmctld wants the first node's of all others.
#[test]
fn linear_wants_the_memory_of_the_first_node() {
    let conf = [
        "SelectType=select/linear",
        "SelectTypeParameters=CR_Memory",
        "NodeName=n1 CPUs=3 Sockets=3 RealMemory=3000",
        "NodeName=n2 CPUs=8 Sockets=2 CoresPerSocket=2 ThreadsPerCore=2 RealMemory=1000",
        "NodeName=n3 CPUs=3 Sockets=3 RealMemory=3000",
    ];
    let world = World::new(SlurmLine::V22_05, conf);
    gives(
        &world,
        &[
            ("salloc -n12", "waits"),
            ("salloc -n4", "granted n1=0-2:3 n3=0-2:3"),
            ("salloc -n6 --contiguous", "waits"),
            (
                "salloc -n14 --mem=1000",
                "granted n1=0-2:3 n2=0-3:8 n3=0-2:3",
            ),
            ("salloc -n3 --cores-per-socket=2", "granted n2=0-3:8"),
        ],
    );
}

#[test]
fn names_of_nodes_are_checked() {
    let world = core("1x2x1, 1x2x1");
    gives(
        &world,
        &[
            ("srun -n1 -w n9", "refused"),
            ("srun -n1 -w n1 -x n1", "refused"),
            ("srun -n1 -x n1", "granted n2=0:1"),
        ],
    );
}
