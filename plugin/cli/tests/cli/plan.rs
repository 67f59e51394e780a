//! `berth plan` as a user runs it: the program, its words, its exit codes.

use crate::plan_common::{berth, plan};

/// The rules that hold for a machine of which nothing else is known.
const ASSUMED: &str = "berth: site: compat=berth, Slurm 26.05 (assumed)\n";

#[test]
fn the_papers_example_on_both_numberings() {
    let machine = [
        "plan",
        "--machine",
        "pack:4 core:2 pu:1",
        "-n8",
        "-B",
        "4:2",
    ];
    let rest = ["--distribution=block:cyclic", "--format", "masks"];
    let block = berth(&[&machine[..], &rest].concat(), "");
    assert_eq!(block.stdout, "0x01,0x04,0x10,0x40,0x02,0x08,0x20,0x80\n");
    let cyclic = berth(
        &[&machine[..], &rest, &["--numbering", "cyclic"]].concat(),
        "",
    );
    assert_eq!(cyclic.stdout, "0x01,0x02,0x04,0x08,0x10,0x20,0x40,0x80\n");
    // By sockets and cores the two are the same.
    let columns = |numbering: &str| {
        let table = berth(&[&machine[..], &["--numbering", numbering]].concat(), "").stdout;
        let rows = table
            .lines()
            .skip_while(|line| !line.starts_with("task"))
            .skip(1);
        rows.map(|row| row.split_whitespace().take(4).collect::<Vec<_>>().join(" "))
            .collect::<Vec<_>>()
    };
    assert_eq!(columns("block"), columns("cyclic"));
    assert_eq!(
        columns("block"),
        [
            "0 0 0 0", "1 1 0 2", "2 2 0 4", "3 3 0 6", "4 0 0 1", "5 1 0 3", "6 2 0 5", "7 3 0 7"
        ]
    );
}

#[test]
fn the_table_says_what_it_assumes() {
    let done = berth(
        &[
            "plan",
            "--machine",
            "pack:2 core:2 pu:2",
            "-n2",
            "--cores",
            "0,2",
            "--cpu-bind=cores",
        ],
        "",
    );
    assert_eq!(
        done.stdout,
        "machine     pack:2 core:2 pu:2 (S:C:T 2:2:2)\n\
         site        compat=berth, Slurm 26.05 (assumed)\n\
         allocation  cores 0,2 (--cores)\n\
         rule        cores:cyclic\n\
         \n\
         task  socket  NUMA  core  CPUs  mask\n\
         0     0       0     0     0-1   0x03\n\
         1     1       0     2     4-5   0x30\n"
    );
    assert_eq!((done.code, done.stderr.as_str()), (0, ""));
}

/// On a large node people compare sockets, NUMA nodes and caches; masks of 64 digits are for programs.
#[test]
fn masks_are_left_out_where_lines_would_be_too_long() {
    let node = "pack:2 numa:4 l3:2 core:8 pu:2";
    let place = ["plan", "--machine", node, "--numbering=threads-last"];
    let more = [
        "--cores=all",
        "-n16",
        "--map-by=l3cache",
        "--bind-to=l3cache",
        "--width=80",
    ];
    let words = [&place[..], &more].concat();
    let rows = |words: &[&str]| {
        let table = berth(words, "").stdout;
        let rows = table.lines().skip_while(|line| !line.starts_with("task"));
        rows.map(String::from).collect::<Vec<_>>()
    };
    let plain = rows(&words);
    assert_eq!(plain.len(), 17, "{plain:#?}");
    assert_eq!(plain[0], "task  socket  NUMA  L3  core     CPUs");
    assert_eq!(plain[2], "1     0       0     1   8-15     8-15,136-143");
    let masks = rows(&[&words[..], &["--masks"]].concat());
    assert!(masks[0].ends_with("mask") && masks.len() > 17, "{masks:#?}");
    let wide = rows(&[&words[..], &["--width=200"]].concat());
    assert!(wide[0].ends_with("mask") && wide.len() == 17, "{wide:#?}");
}

/// Without a --near the table shows which GPUs are next to a task, by their numbers in PCI order.
#[test]
fn gpus_have_a_column_where_there_are_any() {
    let xml = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/topologies/kinds-gpus-2.xml"
    );
    let words = [
        "plan",
        "--machine",
        xml,
        "--cores=all",
        "--allow-ecores",
        "-n2",
        "--cpu-bind=cores",
    ];
    let table = berth(&words, "").stdout;
    let rows: Vec<_> = table
        .lines()
        .skip_while(|line| !line.starts_with("task"))
        .collect();
    assert_eq!(
        rows,
        [
            "task  socket  NUMA  core  CPUs  next GPU  mask",
            "0     0       0     0     0     1         0x1",
            "1     1       1     1     1     0         0x2"
        ]
    );
    let json = plan(&format!("--machine {xml} --cores=all --format json -n1"));
    assert!(json.stdout.contains("\"gpus\": 2,"), "{}", json.stdout);
}

#[test]
fn memory_has_a_column_where_it_is_asked() {
    let machine = [
        "plan",
        "--cores=all",
        "--machine",
        "pack:2 numa:2 core:2 pu:1",
        "-n3",
    ];
    let answer = |options: &[&str]| berth(&[&machine[..], options].concat(), "");
    let rows = |options: &[&str]| {
        let text = answer(options).stdout;
        let rows = text.lines().skip_while(|row| !row.starts_with("task"));
        rows.map(|row| row.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        rows(&["--cpu-bind=cores", "--mem-bind=local"]),
        [
            "task socket NUMA core CPUs mask memory",
            "0 0 0 0 0 0x01 0",
            "1 1 2 4 4 0x10 2",
            "2 0 0 1 1 0x02 0"
        ]
    );
    assert_eq!(
        rows(&["--cpu-bind=none", "--mem-bind=prefer,mask_mem:0xe,1"]),
        ["task memory", "0 1 first", "1 0 first", "2 1 first"]
    );
    let plain = answer(&["--cpu-bind=cores"]);
    for nothing in ["none", "verbose,quiet", "prefer"] {
        let option = format!("--mem-bind={nothing}");
        let requested = answer(&["--cpu-bind=cores", &option]);
        assert_eq!(
            (requested.code, &requested.stdout),
            (0, &plain.stdout),
            "{option}"
        );
    }
    let refused = answer(&["--mem-bind=map_mem:5"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (1, ""));
    assert_eq!(
        refused.stderr,
        "berth: refused: --mem-bind=map_mem:5 gives task 0 on this node NUMA node 5; this node \
         has NUMA nodes 0-3; name only those, or let --mem-bind=local choose\n"
    );
    for usage in ["--mem-bind=map_mem:", "--mem-bind=near"] {
        assert_eq!(answer(&[usage]).code, 2, "{usage}");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn exit_codes_and_texts() {
    let refused = plan("--machine pu:2 -n2 --cpu-bind=map_cpu:7");
    assert_eq!((refused.code, refused.stdout.as_str()), (1, ""));
    assert!(
        refused
            .stderr
            .starts_with("berth: refused: --cpu-bind=map_cpu:7 names CPU 7"),
        "{}",
        refused.stderr
    );
    let unmet = berth(
        &["plan", "--machine", "pack:2 core:2 pu:1", "-B", "4:2"],
        "",
    );
    assert_eq!(unmet.code, 1);
    assert!(
        unmet
            .stderr
            .contains("-B asks for 4 sockets; this machine has 2"),
        "{}",
        unmet.stderr
    );
    let binding = plan("--machine pu:2 --binding=linear:");
    assert_eq!(binding.code, 2);
    assert!(
        binding.stderr.contains("  linear:\n         ^"),
        "{}",
        binding.stderr
    );
    for usage in [
        "-n0",
        "-n2x",
        "--format=odd",
        "--cpu-bind=what",
        "-mblok",
        "-B1:x",
        "--mem_bind=local",
        "--exclusive --overlap",
        "--cores=0 --cpus=0",
        "--no-such",
    ] {
        assert_eq!(plan(usage).code, 2, "{usage}");
    }
    let note = berth(
        &[
            "plan",
            "--machine",
            "core:2 pu:1",
            "-n2",
            "--binding=linear:2",
            "--cores=all",
            "--format=cpus",
        ],
        "",
    );
    assert_eq!((note.code, note.stdout.as_str()), (0, "0-1\n0-1\n"));
    assert!(
        note.stderr.contains("\nberth: note: --binding=linear:2"),
        "{}",
        note.stderr
    );
    assert_eq!(plan("--machine no/such/file.xml").code, 2);
    let free = berth(
        &[
            "plan",
            "--machine",
            "core:2 pu:1",
            "--cores=all",
            "-n2",
            "--cpu-bind=none",
            "--format=masks",
        ],
        "",
    );
    assert_eq!(free.stdout, "none\n");
}

#[test]
fn a_note_of_several_nodes_is_shown_once() {
    let done = plan("--machine pu:4 -N2 -n3 --near=gpu --cores all");
    let shown = done.stderr.matches("has no devices").count();
    assert_eq!(shown, 1, "{}", done.stderr);
}

#[test]
fn hints_become_other_options() {
    let machine = [
        "plan",
        "--machine",
        "pack:2 core:2 pu:2",
        "--format=masks",
        "--cores=all",
    ];
    for (options, masks) in [
        (&["-n2", "--hint=compute_bound"][..], "0x03,0x30"),
        (&["-n2", "--hint=memory_bound"], "0x03,0x30"),
        (&["-n2", "--hint=multithread"], "0x01,0x10"),
        (&["-n4", "--hint=nomultithread"], "0x01,0x10,0x04,0x40"),
    ] {
        let done = berth(&[&machine[..], options].concat(), "");
        assert_eq!(done.stdout.trim(), masks, "{options:?}");
        assert_eq!(done.stderr, ASSUMED);
    }
    let beside = berth(
        &[
            &machine[..],
            &["-n2", "--hint=nomultithread", "--cpu-bind=sockets"],
        ]
        .concat(),
        "",
    );
    assert_eq!(beside.stdout.trim(), "0x0F,0xF0");
    assert!(
        beside
            .stderr
            .contains("srun ignores --hint beside --cpu-bind"),
        "{}",
        beside.stderr
    );
}

#[test]
fn live_is_this_machine() {
    let done = berth(
        &[
            "plan",
            "--cores=all",
            "-n1",
            "--cpu-bind=none",
            "--format=masks",
        ],
        "",
    );
    assert_eq!(
        (done.code, done.stdout.as_str()),
        (0, "none\n"),
        "{}",
        done.stderr
    );
    let found = berth(&["discover"], "");
    assert_eq!(found.code, 0);
    assert!(
        found.stdout.contains("\"berth_machine\""),
        "{}",
        found.stdout
    );
}

#[test]
fn man_pages_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let done = berth(&["man", &folder.path().to_string_lossy()], "");
    assert_eq!(done.code, 0, "{}", done.stderr);
    let page = std::fs::read_to_string(folder.path().join("berth-plan.1")).unwrap();
    assert!(page.contains("cpu\\-bind"), "{page}");
}

#[test]
fn an_exact_step_has_the_cores_that_slurmctld_gives_or_those_that_are_named() {
    let done = plan("--machine pu:4 --exact -n 1 --format masks");
    assert_eq!(done.stdout, "0x1\n", "{}", done.stderr);
    let done = plan("--machine pu:4 --exact -n 1 --cores 2 --format masks");
    assert_eq!(
        (done.stdout.as_str(), done.stderr.as_str()),
        ("0x4\n", ASSUMED)
    );
}

#[test]
fn the_sites_cpu_bind_stands_only_where_nothing_else_does() {
    for (options, masks) in [
        ("", "0x1,0x2\n"),
        ("--cpu-bind=cores", "0x3,0xC\n"),
        ("-B1:2", "0x3,0xC\n"),
    ] {
        let machine = ["--machine", "core:2 pu:2", "--cores=all"];
        let mut arguments = vec!["plan", "-n2", "--format=masks"];
        arguments.extend(machine);
        arguments.push("--default-cpu-bind=threads");
        arguments.extend(options.split_whitespace());
        let done = berth(&arguments, "");
        assert_eq!(done.stdout, masks, "{options}: {}", done.stderr);
    }
}

#[test]
fn cores_of_pools_are_left_to_them() {
    let line = |binding: &str, more: &[&str]| {
        let words = [
            "plan",
            "--machine",
            "pack:2 core:4 pu:1",
            "--cores=all",
            "-n1",
            binding,
            "--pool-cores",
            "0-3",
        ];
        berth(&[&words[..], more].concat(), "")
    };
    let cpus = |binding| line(binding, &["--format", "cpus"]).stdout;
    assert_eq!(cpus("--binding=linear:2"), "4-5\n");
    assert_eq!(cpus("--binding=linear:5"), "0,4-7\n");
    assert_eq!(cpus("--binding=auto"), "4-7\n");
    let why = line("--binding=auto", &["--explain"]).stdout;
    assert!(
        why.contains("auto leaves out 4 cores of jobs in pools"),
        "{why}"
    );
}
