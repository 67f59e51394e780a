//! What the release lines answer differently.

use berth_placement::controller::select::{JobAnswer, JobRefusal, SlurmLine, Wait, job};

use crate::line;
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
    let (client, options) = line::read("srun -n9");
    let answer = |line| {
        job(
            &world(line, "CR_Core", "1x4x1, 1x4x1").cluster,
            client,
            &options,
        )
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
    let ask = |line| world(line, "CR_Core", "2x2x1").busy("n1=0");
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
fn one_node_is_the_first_that_fits_in_26_05() {
    let ask = |line| world(line, "CR_Core", "1x8x1, 1x4x1");
    gives(
        ask,
        "srun -n1",
        ["granted n2=0:1", "granted n2=0:1", "granted n1=0:1"],
    );
    gives(
        ask,
        "srun -n1 --mincpus=2",
        ["granted n2=0-1:2", "granted n2=0:1", "granted n1=0:1"],
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
fn a_node_without_a_task_keeps_the_cores_that_it_could_have_used() {
    let ask = |line| {
        let nodes = "2x4x2, 2x4x2, 3x2x2 CPUs=6 CoreSpecCount=2";
        world(line, "CR_Core", nodes).busy("n1=1-2,5")
    };
    let both = "granted n1=0:2 n2=0:2";
    gives(
        ask,
        "srun -m plane=2 -c2 -w n1,n2 --spread-job",
        [both, both, "granted n1=0,3:4 n2=0:2 n3=0-2,4:0"],
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

#[test]
fn a_spread_job_takes_a_node_of_each_weight_in_26_05() {
    let ask = |line| world(line, "CR_Core", "1x2x1 Weight=2, 1x2x1 Weight=1");
    gives(
        ask,
        "salloc --spread-job",
        ["granted n2=0:1", "granted n2=0:1", "granted n1=0:1 n2=0:1"],
    );
}

#[test]
fn linear_offers_all_lines_of_a_weight_at_once_since_24_11() {
    let conf = [
        "SelectType=select/linear",
        "NodeName=n1 Sockets=2 CoresPerSocket=4 ThreadsPerCore=1",
        "NodeName=n2 Sockets=2 CoresPerSocket=4 ThreadsPerCore=1",
        "NodeName=n3 Sockets=3 CoresPerSocket=1 ThreadsPerCore=1",
        "NodeName=n4 Sockets=2 CoresPerSocket=4 ThreadsPerCore=1",
    ];
    let ask = |line| World::new(line, conf).busy("n3=0-2 whole");
    let last = "granted n4=0-7:8";
    gives(ask, "salloc -n3", ["granted n1=0-7:8", last, last]);
}
