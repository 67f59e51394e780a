//! The rules of a step's nodes and cores inside a job.

use berth_placement::controller::select::SlurmLine;

use crate::world::{World, core, world};

#[track_caller]
fn gives(world: &World, cases: &[(&str, &str, &str)]) {
    for (job, step, answer) in cases {
        assert_eq!(world.step(job, step), *answer, "{job}, {step}");
    }
}

#[test]
fn a_step_has_all_cores_of_its_nodes_unless_it_is_exact() {
    gives(
        &core("2x2x1"),
        &[
            ("srun -n2 -N1 --exclusive", "", "granted n1=0,2"),
            ("salloc -n4", "srun -n1", "granted n1=0-3"),
            ("salloc -n4", "srun -n1 --exact", "granted n1=0"),
            ("salloc -n4", "srun -n1 --exclusive", "granted n1=0"),
            ("salloc -n4", "srun -n1 -c1", "granted n1=0"),
            ("salloc -n4", "srun -n1 --overlap", "granted n1=0-3"),
            ("salloc -n4", "srun -n1 --whole", "granted n1=0-3"),
        ],
    );
}

#[test]
fn cpus_of_a_task_reach_a_step_by_the_release() {
    let old = core("2x8x1");
    assert_eq!(old.step("salloc -n2 -c6", "srun --exact"), "granted n1=0,8");
    let new = |line| world(line, "CR_Core", "2x16x1");
    for line in [SlurmLine::V24_11, SlurmLine::V26_05] {
        let step = new(line).step("salloc -n8 -c3 --exclusive", "srun -n2 --overlap");
        let cores = step.trim_start_matches("granted n1=");
        assert_eq!(crate::world::cores(cores).count(), 6, "{step}");
    }
    let step = new(SlurmLine::V22_05).step("salloc -n8 -c3 --exclusive", "srun -n2 --overlap");
    assert_eq!(step, "granted n1=0-31");
}

#[test]
fn more_than_the_job_has_is_refused() {
    gives(
        &core("2x2x1, 2x2x1"),
        &[
            ("salloc -n2", "srun -n3", "refused"),
            ("salloc -n2 -N1", "srun -N2", "refused"),
            (
                "salloc -n2 --threads-per-core=1",
                "srun --threads-per-core=2",
                "refused",
            ),
        ],
    );
}

#[test]
fn a_step_takes_the_nodes_that_it_needs() {
    gives(
        &core("1x4x1, 1x4x1"),
        &[
            ("salloc -n8", "srun -n2 -N1 --exact", "granted n1=0-1"),
            ("salloc -n8", "srun -n2 -N2 --exact", "granted n1=0 n2=0"),
            (
                "salloc -n8",
                "srun -n5 --exact -m block,Pack",
                "granted n1=0-3 n2=0",
            ),
        ],
    );
}

#[test]
fn tasks_that_share_cores_fill_the_first_socket_in_22_05_alone() {
    let shape = "4x8x2";
    let ask = |line| world(line, "CR_Core", shape).step("salloc --exclusive", "srun -n5 --exact");
    assert_eq!(ask(SlurmLine::V22_05), "granted n1=0-2");
    assert_eq!(ask(SlurmLine::V24_11), "granted n1=0,8,16");
    assert_eq!(ask(SlurmLine::V26_05), "granted n1=0,8,16");
}

#[test]
fn the_second_level_of_m_orders_a_steps_cores() {
    gives(
        &core("2x4x1"),
        &[
            (
                "salloc --exclusive",
                "srun -n3 --exact -m block:block",
                "granted n1=0-2",
            ),
            (
                "salloc --exclusive",
                "srun -n3 --exact -m block:fcyclic",
                "granted n1=0-1,4",
            ),
            (
                "salloc --exclusive",
                "srun -n2 -c2 -m block:cyclic",
                "granted n1=0-1,4-5",
            ),
        ],
    );
}

#[test]
fn as_many_tasks_as_cores_have_all_of_them() {
    let world = core("1x4x2");
    assert_eq!(
        world.step("salloc --exclusive", "srun -n4 --exact"),
        "granted n1=0-3"
    );
    assert_eq!(
        world.step("salloc --exclusive", "srun -n3 --exact"),
        "granted n1=0-1"
    );
}

#[test]
fn a_step_that_ends_slurmctld_22_05_is_named() {
    for select in ["CR_Core", "CR_CPU"] {
        let ask = |line| {
            world(line, select, "1x1x1, 1x1x1, 1x1x1")
                .step("salloc -n3 -N3", "srun -n1 -c2 -m block,Pack")
        };
        assert_eq!(ask(SlurmLine::V22_05), "KillsSlurmctld", "{select}");
        assert_eq!(ask(SlurmLine::V24_11), "refused", "{select}");
        assert_eq!(ask(SlurmLine::V26_05), "refused", "{select}");
    }
}
