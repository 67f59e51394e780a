//! `berth advise` as its user meets it: what it refuses and what would fit, long text, the width of its
//! table, and lines that can be typed.

mod plan_common;

use plan_common::{Done, berth};
use serde_json::Value;

fn advise(machine: &str, options: &str) -> Done {
    let mut words = vec!["advise", "--machine", machine];
    words.extend(options.split_whitespace());
    berth(&words, "")
}

/// Options, the exit code, and a part of the message.
const REFUSED: &[(&str, i32, &str)] = &[
    ("-n 4 -c 3", 1, "this would fit: -n 2 -c 3, or -n 4 -c 2"),
    ("-n 9", 1, "this would fit: -n 8"),
    ("-n 1 -c 9", 1, "this would fit: -n 1 -c 8"),
    ("-n 100000", 1, "as in -N 1 -n 4096"),
    ("-n 2000000000", 1, "at most 4096 tasks on such a node"),
    (
        "-N 2 -n 100000 -O",
        1,
        "100000 tasks on 2 nodes are requested",
    ),
    (
        "-w n1 -n 60000 -O",
        1,
        "60000 tasks on 1 node are requested",
    ),
    ("-n 4 --for gpu", 1, "no GPU of this node is known"),
    ("-n 4 --for fun", 2, "mpi, openmp, memory, gpu"),
    (
        "-n 4 --near=gpu",
        2,
        "--near is what berth advise tries by itself",
    ),
    (
        "-n 4 --map-by core",
        2,
        "--map-by is what berth advise tries",
    ),
    (
        "-n 4 --cpu-bind=cores",
        2,
        "--cpu-bind is what berth advise tries",
    ),
    ("-n 4 --cpu_bind=cores", 2, "is what berth advise tries"),
    (
        "srun -n 4 ./app",
        2,
        "berth advise takes options, and no whole line",
    ),
    ("-n 4 --explain", 2, "--explain is an option of berth plan"),
    ("-n 4 --format svg", 2, "table, json"),
    ("-n 4 --lines 0", 2, "1..=50"),
    (
        "-n 4 --exclusive --overlap",
        2,
        "srun takes --exclusive or --overlap",
    ),
    ("-n 4 --hint=loud", 2, "berth advise [OPTIONS]"),
];

#[test]
fn what_cannot_be_served_says_what_would_fit() {
    for (options, code, part) in REFUSED {
        let place = if options.contains("exclusive") {
            ""
        } else {
            "--cores=all"
        };
        let done = advise("pack:2 core:4 pu:1", &format!("{place} {options}"));
        assert_eq!(
            done.code, *code,
            "{options}: {}{}",
            done.stdout, done.stderr
        );
        assert!(done.stderr.contains(part), "{options}: {}", done.stderr);
        assert!(done.stdout.is_empty(), "{options}: {}", done.stdout);
        assert!(done.stderr.len() < 2000, "{options}");
    }
}

#[test]
fn long_text_is_bounded_and_commands_no_terminal() {
    let long = format!("--comment={}", "x".repeat(100_000));
    let done = berth(&["advise", "-n2", "--machine", "pu:4", &long], "");
    assert_eq!(done.code, 2);
    assert!(
        done.stderr
            .contains("leave out those that do not concern CPUs")
            && done.stderr.len() < 2000
    );
    let odd = "--comment=a\u{1b}[31m\nb'c";
    let done = berth(&["advise", "-n2", "--machine", "pu:4", odd], "");
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert!(!done.stdout.contains('\u{1b}'), "{}", done.stdout);
    for line in done.stdout.lines().filter(|line| line.contains("comment")) {
        assert!(line.contains("srun -n 2 "), "{line}");
    }
}

#[test]
fn a_table_fits_eighty_columns() {
    for goal in ["mpi", "openmp", "memory"] {
        for request in ["-n 128", "-n 16 -c 8", "-n 12 -c 6", "-N 4 -n 100 -c 3"] {
            let done = advise(
                "pack:2 numa:4 l3:2 core:8 pu:2",
                &format!("--cores all {request} --for {goal} --lines 50"),
            );
            assert_eq!(done.code, 0, "{request}: {}", done.stderr);
            let widest = done.stdout.lines().map(|line| line.chars().count()).max();
            assert!(
                widest <= Some(80),
                "{request} --for {goal}:\n{}",
                done.stdout
            );
        }
    }
}

/// The options of the request stay on every line, and those of the place in the command beside it.
#[test]
fn lines_and_commands_can_be_typed() {
    let words = "--numbering cyclic --for memory --cores all -n 4 -c 2 -p long --job-name=x -O";
    let done = advise("pack:2 core:4 pu:2", &format!("{words} --format json"));
    let advice: Value = serde_json::from_str(&done.stdout).unwrap();
    for line in advice["lines"].as_array().unwrap() {
        let text = line["line"].as_str().unwrap();
        assert!(text.starts_with("srun -n 4 -c 2 -p long -J x -O"), "{text}");
        assert!(text.ends_with(" ./app"), "{text}");
        let command = line["plan"].as_str().unwrap();
        let before = "berth plan --machine 'pack:2 core:4 pu:2' --numbering cyclic --cores all ";
        assert_eq!(command, format!("{before}'{text}'"));
    }
}

/// More tasks than cores: nothing can be done about sharing, so the next point decides, and a line whose
/// tasks may run all over a socket is no advice.
#[test]
fn where_every_line_shares_all_cores_the_next_point_decides() {
    for (machine, options, lines) in [
        (
            "pack:2 numa:2 l3:2 core:4 pu:2",
            "-n 64",
            &["srun -n 64 --binding=auto ./app"][..],
        ),
        // Lines behind the best one do not share cores while others stay idle.
        (
            "pack:2 numa:2 l3:2 core:4 pu:2",
            "-n 40 --for memory",
            &["srun -n 40 --binding=auto ./app"],
        ),
        // One task shares no core on any line.
        (
            "pack:2 numa:1 core:16 pu:2",
            "-n 1 -c 8",
            &["srun -n 1 -c 8 --cpu-bind=ldoms ./app"],
        ),
    ] {
        let done = advise(machine, &format!("--cores all --format json {options}"));
        let advice: Value = serde_json::from_str(&done.stdout).unwrap();
        let shown = advice["lines"].as_array().unwrap().iter();
        let shown: Vec<_> = shown.map(|one| one["line"].as_str().unwrap()).collect();
        assert_eq!(shown, lines, "{machine} {options}");
    }
}

/// With `--near` berth knows which GPU a task has; without it the figures hold for one order only.
#[test]
fn a_line_with_near_stays_and_others_say_what_they_need() {
    let machines = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/machines");
    let file = format!("{machines}/coral-lassen.xml");
    for most in [1, 2, 50] {
        let done = advise(
            &file,
            &format!("--cores all -n 64 --for gpu --format json --lines {most}"),
        );
        let advice: Value = serde_json::from_str(&done.stdout).unwrap();
        let lines = advice["lines"].as_array().unwrap();
        let near = |line: &Value| line["line"] == "srun -n 64 --near=gpu ./app";
        assert!(lines.len() <= most && lines.iter().any(near), "{lines:?}");
        for line in lines {
            let condition = line["condition"].as_str();
            let expected = "fits only if each task uses the GPUs that berth plan shows for it with \
                            --near=gpu";
            assert_eq!(condition, (!near(line)).then_some(expected), "{line}");
        }
    }
    // One GPU for each task.
    let file = format!("{machines}/cts1-pascal.xml");
    let done = advise(&file, "-n 2 --for gpu");
    let text = done.stdout;
    assert!(text.contains("fits only if task N uses GPU N"), "{text}");
}

/// Several nodes get several numbers of cores, and a line that binds the tasks of only some is no advice.
#[test]
fn a_line_binds_the_tasks_of_every_node() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let conf = "SelectTypeParameters=CR_Core\nNodeName=n[1-9] Sockets=2 CoresPerSocket=8 ThreadsPerCore=2\n\
                PartitionName=all Nodes=ALL Default=YES\n";
    std::fs::write(file.path(), conf).unwrap();
    let place = file.path().to_string_lossy().into_owned();
    for request in ["-n 34", "-n 128", "-N 3 -n 20"] {
        let mut words = vec!["advise", "--cluster", &place, "--lines", "50"];
        words.extend(request.split(' '));
        let done = berth(&words, "");
        assert_eq!(done.code, 0, "{request}: {}", done.stderr);
        assert!(
            !done.stderr.contains("binds none"),
            "{request}: {}",
            done.stderr
        );
        assert!(
            done.stdout.contains("--cluster"),
            "{request}: {}",
            done.stdout
        );
    }
}
