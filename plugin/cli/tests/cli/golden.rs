//! Tables of `berth plan`, kept as files in `golden/`: a change of any is seen in review.
//! Rewritten on request only: `INSTA_UPDATE=always cargo test -p berth-cli --test cli golden::`.

use crate::golden_tables::TABLES;
use std::process::Command;

/// Tables of `berth tune --dry-run` in `golden/`: the name, the machine and the words of each.
const TUNED: &[(&str, &str, &str)] = &[
    (
        "tune-mpi",
        "pack:2 numa:2 l3:2 core:4 pu:2",
        "srun -n 6 ./app",
    ),
    (
        "tune-openmp",
        "pack:2 numa:2 core:4 pu:2",
        "--for openmp srun -n 3 -c 2 ./app",
    ),
    (
        "tune-memory",
        "pack:2 numa:2 core:4 pu:1",
        "--for memory srun -N 2 -n 8 -c 2 ./app",
    ),
    (
        "tune-json",
        "pack:2 core:4 pu:1",
        "--format json --only --cpu-bind=cores srun -n 2 -c 2 ./app",
    ),
    (
        "tune-refused",
        "pack:2 core:4 pu:1",
        "srun -n 4 -c 3 --cpu-bind=map_cpu:99 ./app",
    ),
];

#[test]
fn tables_are_as_they_were() {
    for (name, machine, request) in TABLES {
        // What slurmctld would give is not what these are about.
        let other = ["--cores", "--cpus ", "memory_bound"];
        let is_other = other.iter().any(|word| request.contains(word));
        let whole = if is_other { "" } else { "--cores all " };
        compare("plan", name, machine, &format!("{whole}{request}"));
    }
}

#[test]
fn lines_to_compare_are_as_they_were() {
    for (name, machine, request) in TUNED {
        let request = format!("--dry-run --cores all {request}");
        compare("tune", name, machine, &request);
    }
}

fn compare(command: &str, name: &str, machine: &str, request: &str) {
    let done = Command::new(env!("CARGO_BIN_EXE_berth"))
        .env("LC_ALL", "C.UTF-8")
        .args([command, "--machine", machine])
        .args(request.split(' '))
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (table, stderr) = (text(done.stdout), text(done.stderr));
    let code = done.status.code().unwrap();
    let shown = format!(
        "$ berth {command} --machine \"{machine}\" {request}\n{table}{stderr}exit code {code}\n"
    );
    insta::with_settings!({
        snapshot_path => "golden",
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, {
        insta::assert_snapshot!(name, shown);
    });
}
