//! Slurm's own GPU options in `berth plan`: which GPUs each task sees, and what the plan does not know.
use crate::plan_common::berth;

/// The cell under `GPU` of each task's row.
fn gpus(line: &str) -> Vec<String> {
    let done = berth(&["plan", "--machine=lumi-g", "--cores=all", line], "");
    assert_eq!(done.code, 0, "{line}: {}", done.stderr);
    let mut rows = done
        .stdout
        .lines()
        .skip_while(|row| !row.starts_with("task"));
    let words = |row: &str| row.split_whitespace().map(String::from).collect::<Vec<_>>();
    let heads = words(rows.next().unwrap());
    let at = heads.iter().position(|head| head == "GPU").unwrap();
    let tasks = rows.filter(|row| row.starts_with(|first: char| first.is_ascii_digit()));
    tasks.map(|row| words(row)[at].clone()).collect()
}

const EIGHT: &str = "srun -n8 -c16 --cpu-bind=cores -m block:block";

#[test]
fn tasks_see_the_gpus_that_slurm_binds() {
    let eight = |options: &str| gpus(&format!("{EIGHT} {options} ./a"));
    // Cores 0-7 are next to GPUs 4 and 5.
    let near = ["4", "5", "2", "3", "6", "7", "0", "1"];
    assert_eq!(eight("--gpus-per-task=1"), near);
    assert_eq!(eight("--gpus-per-node=8 --gpu-bind=single:1"), near);
    assert_eq!(
        eight("--gpus-per-node=8 --tres-bind=gres/gpu:per_task:1"),
        near
    );
    let closest = ["4-5", "4-5", "2-3", "2-3", "6-7", "6-7", "0-1", "0-1"];
    assert_eq!(eight("--gres=gpu:8 --gpu-bind=closest"), closest);
    assert_eq!(eight("-G 8"), ["0-7"; 8]);
    assert_eq!(eight("-G 8 --gpu-bind=none"), ["0-7"; 8]);
    assert_eq!(eight("--tres-per-task=gres/gpu:1"), near);
    let map = ["7", "0", "7", "0", "7", "0", "7", "0"];
    assert_eq!(eight("-G 8 --gpu-bind=map_gpu:7,0"), map);
}

/// A machine, a line, and a part of the note.
const NOTED: &[[&str; 3]] = &[
    [
        "pu:8",
        "srun -n2 --gpus-per-task=1 ./a",
        "the GPUs of this machine are not known",
    ],
    [
        "pu:8",
        "srun -n2 --gpu-bind=closest ./a",
        "--gpu-bind=closest: the GPUs of this machine",
    ],
    [
        "pu:8",
        "srun -n2 --tres-bind=gres/gpu:closest ./a",
        "the GPUs of this machine",
    ],
    [
        "lumi-g",
        "srun -n2 --gres=gpu:2 ./a",
        "slurmctld may choose other cores, next to the GPUs",
    ],
    [
        "lumi-g",
        "srun -n2 --cpus-per-gpu=4 --gpus=2 ./a",
        "--cpus-per-gpu=4: slurmctld may give other cores or tasks",
    ],
    [
        "pu:8",
        "sbatch -n2 --gres-flags=enforce-binding --wrap=true",
        "--gres-flags=enforce-binding: slurmctld may give",
    ],
    [
        "lumi-g",
        "srun -n2 --ntasks-per-gpu=2 -G1 ./a",
        "--ntasks-per-gpu=2: slurmctld may give",
    ],
    [
        "pu:8",
        "srun -n2 --tres-per-task=cpu=2 ./a",
        "--tres-per-task=cpu=2: slurmctld may give",
    ],
    [
        "lumi-g",
        "srun -n2 -G2 --gpu-bind=nearest ./a",
        "this binding of GPUs is not modelled",
    ],
    [
        "lumi-g",
        "srun -N2 -n2 -G3 ./a",
        "slurmctld chooses how many GPUs each node gives",
    ],
    [
        "lumi-g",
        "sbatch -n2 --gpus-per-node=8 --wrap=true",
        "--gpus-per-node=8: gres.conf is assumed",
    ],
];

/// None is dropped in silence, with or without named cores.
#[test]
fn what_a_plan_does_not_know_of_gpus_is_noted() {
    for [machine, line, says] in NOTED {
        for more in [&[][..], &["--cores=all"]] {
            if line.starts_with("sbatch") && !more.is_empty() {
                continue;
            }
            let machine = format!("--machine={machine}");
            let done = berth(&[&["plan", &machine, line], more].concat(), "");
            assert_eq!(done.code, 0, "{line}: {}", done.stderr);
            let is_asked = says.contains("slurmctld may") && !more.is_empty();
            assert!(
                is_asked || done.stderr.contains(says),
                "{line}: {}",
                done.stderr
            );
        }
    }
}

#[test]
fn more_gpus_than_the_node_has_are_refused() {
    for option in [
        "--gpus-per-node=9",
        "--gres=gpu:9",
        "-N1 --gpus-per-task=5",
        "-N1 -G 9",
    ] {
        let line = format!("srun -n2 {option} ./a");
        let done = berth(&["plan", "--machine=lumi-g", &line], "");
        assert_eq!(done.code, 1, "{line}: {}", done.stderr);
        for part in [
            "\"Requested node configuration is not available\"",
            "a node that has 8",
        ] {
            assert!(done.stderr.contains(part), "{line}: {}", done.stderr);
        }
    }
}
