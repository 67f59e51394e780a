//! What the release lines answer differently.

use berth_placement::controller::select::{JobAnswer, JobRefusal, SlurmLine, Wait, job};

use crate::world::{World, world};

const LINES: [SlurmLine; 3] = [SlurmLine::V22_05, SlurmLine::V24_11, SlurmLine::V26_05];

/// A line's answers by 22.05, 24.11 and 26.05.
#[track_caller]
fn gives(ask: impl Fn(SlurmLine) -> World, line: &str, answers: [&str; 3]) {
    assert_eq!(
        LINES.map(|release| ask(release).job(line)),
        answers,
        "{line}"
    );
}

#[test]
fn more_than_the_partition_has_waits_or_is_refused() {
    let answer = |line| {
        let world = world(line, "CR_Core", "1x4x1, 1x4x1");
        let requested = world.read("srun -n9").unwrap();
        job(&world.cluster, requested.client, &requested.options)
    };
    let waits = JobAnswer::Waits(Wait::PartitionConfig);
    assert_eq!(answer(SlurmLine::V22_05), waits);
    assert_eq!(
        answer(SlurmLine::V24_11),
        JobAnswer::Refused(JobRefusal::PartitionConfig)
    );
    assert_eq!(answer(SlurmLine::V26_05), waits);
}

#[test]
fn surplus_cores_go_before_the_distribution_sees_them() {
    let ask = |line| world(line, "CR_Core", "2x2x1").special("0");
    gives(
        ask,
        "salloc -n1 -c2",
        ["granted n1=2-3:2", "granted n1=1-2:2", "granted n1=1-2:2"],
    );
}

#[test]
fn the_tasks_that_are_placed_are_counted_otherwise() {
    let ask = |line| world(line, "CR_Core", "1x8x1, 1x8x1");
    gives(
        ask,
        "salloc -n7 --ntasks-per-node=4 -N2",
        [
            "granted n1=0-3:4 n2=0-3:4",
            "granted n1=0-3:4 n2=0-2:3",
            "granted n1=0-3:4 n2=0-3:4",
        ],
    );
}

#[test]
fn options_that_contradict_each_other_are_refused_later() {
    let ask = |line| world(line, "CR_Core", "1x4x2");
    gives(
        ask,
        "srun -n1 --exclusive -s",
        ["granted n1=0:2", "refused", "refused"],
    );
    gives(
        ask,
        "srun -n1 --ntasks-per-core=2 --threads-per-core=1",
        ["granted n1=0:2", "refused", "refused"],
    );
}

#[test]
fn whole_nodes_must_hold_overcommitted_tasks_since_24_11() {
    let ask = |line| world(line, "CR_Core", "1x4x1");
    gives(
        ask,
        "srun -n7 -O --exclusive",
        ["granted n1=0-3:4", "waits", "waits"],
    );
}

#[test]
fn a_step_that_names_its_threads_counts_by_threads_per_core_in_26_05() {
    let ask = |line| {
        world(line, "CR_CPU", "2x2x2 CPUs=4").step("salloc -n4 --threads-per-core=1", "srun")
    };
    assert_eq!(
        LINES.map(ask),
        ["granted n1=0-3", "granted n1=0-3", "refused"]
    );
}
