//! `berth plan` for steps over several nodes: whose tasks are where.

use std::process::{Command, Output};

fn plan(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_berth"))
        .args(["plan", "--cores=all"])
        .args(arguments)
        .output()
        .unwrap()
}

/// The node of each task, in task order.
fn nodes(arguments: &[&str]) -> String {
    let done = plan(arguments);
    let (table, stderr) = (
        String::from_utf8(done.stdout).unwrap(),
        String::from_utf8_lossy(&done.stderr).into_owned(),
    );
    assert!(done.status.success(), "{arguments:?}: {stderr}");
    let rows = table
        .lines()
        .skip_while(|line| !line.starts_with("task  "))
        .skip(1);
    let cells = rows.filter_map(|row| row.split_whitespace().nth(1));
    cells.collect::<Vec<_>>().join(" ")
}

const FOUR_CPUS: [&str; 2] = ["--machine", "pack:2 core:2 pu:1"];

#[test]
fn distributions_over_nodes() {
    for (options, expected) in [
        (&["-N2", "-n6"][..], "0 0 0 1 1 1"),
        (&["-N2", "-n6", "-m", "cyclic"], "0 1 0 1 0 1"),
        (&["-N2", "-n6", "-m", "block,Pack"], "0 0 0 0 1 1"),
        (&["-N2", "-n6", "-m", "plane=2"], "0 0 1 1 0 0"),
        (&["-N3"], "0 1 2"),
        (&["-N2", "--ntasks-per-node=2"], "0 0 1 1"),
        // Two CPUs a task: two tasks fill a node.
        (&["-N2", "-n3", "-c2", "-m", "block,Pack"], "0 0 1"),
        (&["-w", "n[1-2],m1", "-n3", "-m", "cyclic"], "m1 n1 n2"),
        (&["-m", "arbitrary", "-w", "n2,n1,n2"], "n2 n1 n2"),
    ] {
        let all = [&FOUR_CPUS[..], &["--cpu-bind=cores"], options].concat();
        assert_eq!(nodes(&all), expected, "{options:?}");
    }
}

/// slurmctld compares a number of tasks with a number of CPUs.
#[test]
fn with_several_cpus_for_a_task_the_limit_of_tasks_on_a_node_is_wider() {
    let common = [
        "--machine=pack:2 core:4 pu:1",
        "--cpu-bind=cores",
        "-N3",
        "-n6",
    ];
    let limited = ["-c2", "--ntasks-per-node=2"];
    for (order, expected) in [("block,Pack", "0 0 0 0 1 2"), ("plane=3", "0 0 0 1 1 2")] {
        let all = [&common[..], &limited, &["-m", order]].concat();
        assert_eq!(nodes(&all), expected, "{order}");
    }
}

#[test]
fn a_file_of_hosts() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "n2*2  # two of them\n\nn[1,3]\n").unwrap();
    let path = file.path().to_string_lossy().into_owned();
    let options = [
        &FOUR_CPUS[..],
        &["--cpu-bind=cores", "-m", "arbitrary", "-w", &path],
    ]
    .concat();
    assert_eq!(nodes(&options), "n2 n2 n1 n3");
    let done = Command::new(env!("CARGO_BIN_EXE_berth"))
        .args([
            "plan",
            "--cores=all",
            "--machine",
            "core:2 pu:1",
            "-m",
            "arbitrary",
            "--format",
            "rankfile",
        ])
        .env("SLURM_HOSTFILE", &path)
        .args(["--cpu-bind=cores"])
        .output()
        .unwrap();
    let text = String::from_utf8(done.stdout).unwrap();
    let (comment, ranks) = text.split_once('\n').unwrap();
    assert!(
        comment.starts_with("# allocation: the whole node"),
        "{comment}"
    );
    assert_eq!(
        ranks,
        "rank 0=n2 slot=0\nrank 1=n2 slot=1\nrank 2=n1 slot=0\nrank 3=n3 slot=0\n"
    );
}

#[test]
fn what_contradicts_is_told() {
    for (options, code, part) in [
        (&["-N2-4"][..], 2, "a plan needs one number"),
        (&["-N0"], 2, "from 1 to 65533 nodes"),
        (&["-N3", "-w", "n1,n2"], 1, "name them all"),
        (&["-w", "n[1-"], 2, "not a host list"),
        (&["-w", "/no/such/hosts"], 2, "cannot be read"),
        (&["-N2", "-m", "arbitrary"], 2, "give it with -w"),
        (&["-m", "arbitrary", "-w", "n1,n2", "-n3"], 1, "use -n 2"),
        (&["-N2", "-n9", "--ntasks-per-node=4"], 1, "-N 3"),
        (&["-n70000"], 1, "Slurm counts only to 65535"),
        (
            &["-n2000000000", "-m", "cyclic"],
            1,
            "Slurm counts only to 65535",
        ),
        (
            &["-N2", "-n9", "--cpu-bind=cores"],
            1,
            "a node that gets 5 of the tasks",
        ),
    ] {
        let done = plan(&[&FOUR_CPUS[..], options].concat());
        let stderr = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(code), "{options:?}: {stderr}");
        assert!(stderr.contains(part), "{options:?}: {stderr}");
    }
    let fewer = plan(&[&FOUR_CPUS[..], &["-N4", "-n2"]].concat());
    let stderr = String::from_utf8_lossy(&fewer.stderr).into_owned();
    assert!(
        stderr.contains("2 tasks need fewer than 4 nodes; srun uses 2"),
        "{stderr}"
    );
}

/// The paper's 32 tasks on four nodes of four sockets.
#[test]
fn the_papers_step() {
    let options = [
        "--machine",
        "pack:4 core:2 pu:1",
        "-N4",
        "-n32",
        "-B",
        "4:2",
        "-m",
        "block:cyclic",
        "--format",
        "cpus",
    ];
    let done = plan(&options);
    let node = "0\n2\n4\n6\n1\n3\n5\n7\n";
    assert_eq!(String::from_utf8(done.stdout).unwrap(), node.repeat(4));
}

/// A file that would fill the memory is refused before it does.
#[test]
fn a_file_of_far_too_many_hosts() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for text in ["n[1-100000]*1000000", "n1*99999999999", "n1*4000000000"] {
        std::fs::write(file.path(), text).unwrap();
        let done = plan(&[
            "--machine",
            "pu:2",
            "-m",
            "arbitrary",
            "-w",
            &file.path().to_string_lossy(),
        ]);
        assert_eq!(done.status.code(), Some(1), "{text}");
    }
}
