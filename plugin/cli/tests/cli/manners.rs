//! The command's manners: what it does with nonsense, with nobody listening, with no colours.

use std::fs::File;
use std::io::Read;
use std::process::{Command, Output, Stdio};

fn berth(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_berth"))
        .args(arguments)
        .output()
        .unwrap()
}

/// One thing is no several things, whatever number a sentence has.
#[test]
fn numbers_have_their_nouns() {
    for words in [
        "plan --machine numa:2;core:1;pu:2 --cores all -n2 --score --explain --cpu-bind=cores",
        "plan --machine pu:4 --cores all -n3 --score --explain --cpu-bind=sockets",
        "plan --machine pu:4 -n1 -N2 --cores all --score",
        "plan --machine pu:2 --cores all -n1 -c9 --cpu-bind=threads",
        "plan --machine pack:1;core:2;pu:2 --cores all -n1 -c5 --hint=nomultithread",
        "plan --machine pu:2 --cores all -n3 --map-by=slot:pe=2",
        "plan --machine pu:2 --cores all -n2 --map-by=slot:pe=2",
        "plan --machine pu:1 --cores all -n2 --binding=auto",
        "plan --machine pu:1 --cores all -n2 --binding=linear:2",
        "plan --machine pack:1;core:2;pu:2 --cores all -n2 -c2 --map-by=core --bind-to=core --explain",
        "tune --dry-run --machine pu:1 --cores all srun -n2 a",
        "tune --dry-run --machine numa:2;core:1;pu:2 --cores all --for memory srun -n1 a",
        "topo --machine pu:1",
    ] {
        let words: Vec<_> = words
            .split(' ')
            .map(|word| word.replace(';', " "))
            .collect();
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let done = berth(&words);
        let all = [done.stdout, done.stderr].concat();
        let text = String::from_utf8(all).unwrap();
        assert!(!text.contains("(s)"), "{words:?}: {text}");
        for noun in [
            "CPUs", "cores", "tasks", "nodes", "threads", "pairs", "sockets",
        ] {
            let wrong = format!(" 1 {noun}");
            assert!(!text.contains(&wrong), "{words:?}: {wrong} in {text}");
        }
    }
}

#[test]
fn a_machine_that_is_none_is_told_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let broken = path("broken.xml");
    std::fs::write(&broken, "<topology><object type=\"Machine\"").unwrap();
    let binary = path("binary.xml");
    std::fs::write(&binary, [0_u8, 159, 146, 150].repeat(1000)).unwrap();
    // A file of a gigabyte without its blocks.
    let huge = path("huge.xml");
    File::create(&huge).unwrap().set_len(1 << 30).unwrap();
    let no_cores = path("no-cores.xml");
    std::fs::write(
        &no_cores,
        "<?xml version=\"1.0\"?>\n<topology version=\"2.0\"><object type=\"Machine\" os_index=\"0\" \
         cpuset=\"0x0\" complete_cpuset=\"0x0\" allowed_cpuset=\"0x0\" nodeset=\"0x1\" \
         complete_nodeset=\"0x1\" allowed_nodeset=\"0x1\" gp_index=\"1\"></object></topology>",
    )
    .unwrap();
    let folder_name = folder.path().to_string_lossy().into_owned();
    for machine in [
        broken.as_str(),
        &binary,
        &huge,
        &no_cores,
        &folder_name,
        "",
        "pack:0 core:4 pu:1",
        "pack:2 core:0 pu:1",
        "pack:2 core:4 pu:-1",
        "no machine at all",
        "/no/such/file",
        "pack:99999999 pu:99",
    ] {
        for command in [
            &["plan", "-n2", "--machine"][..],
            &["topo", "--machine"],
            &["discover", "--machine"],
        ] {
            let done = berth(&[command, &[machine]].concat());
            let stderr = String::from_utf8_lossy(&done.stderr).into_owned();
            assert_eq!(done.status.code(), Some(2), "{machine}: {stderr}");
            assert!(
                stderr.starts_with("berth: ") && !stderr.contains("panicked"),
                "{machine}: {stderr}"
            );
            assert_eq!(done.stdout, b"", "{machine}");
        }
    }
}

/// As `berth … | head -1`: the end is quiet, whatever was left to say.
#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn nobody_reads_to_the_end() {
    for arguments in [
        &[
            "plan",
            "--machine",
            "pack:2 core:4 pu:2",
            "-N2000",
            "--ntasks-per-node=16",
        ][..],
        &[
            "plan",
            "--machine",
            "pack:2 core:4 pu:2",
            "-N2000",
            "--ntasks-per-node=16",
            "--format=json",
        ],
        &[
            "plan",
            "--machine",
            "pack:2 core:4 pu:2",
            "-N2000",
            "--ntasks-per-node=16",
            "--format=cpus",
        ],
        &[
            "plan",
            "--machine",
            "pack:2 core:64 pu:2",
            "-N200",
            "--format=tree",
        ],
        &["topo", "--machine", "pack:4 core:256 pu:2"],
        &["completions", "zsh"],
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_berth"))
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = [0; 1];
        let mut pipe = child.stdout.take().unwrap();
        pipe.read_exact(&mut first).unwrap();
        drop(pipe);
        let done = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "{arguments:?}: {stderr}");
        assert!(
            !stderr.contains("panicked") && !stderr.contains("Broken pipe"),
            "{arguments:?}: {stderr}"
        );
    }
}

#[test]
fn colours_are_asked_for_or_absent() {
    let tree = [
        "plan",
        "--machine",
        "pack:2 core:2 pu:1",
        "-n2",
        "--cpu-bind=cores",
        "--format=tree",
    ];
    let plain = berth(&tree).stdout;
    assert!(!plain.contains(&0x1b));
    let coloured = berth(&[&tree[..], &["--color=always"]].concat()).stdout;
    assert!(coloured.contains(&0x1b));
    // Without its colours it says the same.
    let text = String::from_utf8(coloured).unwrap();
    let mut stripped = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find('\u{1b}') {
        stripped.push_str(&rest[..at]);
        rest = &rest[at + rest[at..].find('m').unwrap() + 1..];
    }
    stripped.push_str(rest);
    assert_eq!(stripped.as_bytes(), plain);
}

/// Trees and tables have an ASCII form, by the locale or by the option.
#[test]
fn ascii_is_asked_for_or_the_locale_wants_it() {
    let tree = [
        "plan",
        "--machine=pack:2 numa:2 core:2 pu:1",
        "-n3",
        "--format=tree",
        "--explain",
    ];
    let run = |locale: &str, more: &[&str]| {
        let done = Command::new(env!("CARGO_BIN_EXE_berth"))
            .env("LC_ALL", locale)
            .args([&tree[..], more].concat())
            .output()
            .unwrap();
        assert!(done.status.success());
        String::from_utf8(done.stdout).unwrap()
    };
    let ours = run("C.UTF-8", &[]);
    assert!(
        ours.contains("┌─ socket 0 ─") && ours.contains('×'),
        "{ours}"
    );
    let plain = run("C", &[]);
    assert!(
        plain.is_ascii() && plain.contains("+- socket 0 -"),
        "{plain}"
    );
    assert!(plain.contains("| NUMA node 1 "), "{plain}");
    assert_eq!(run("C.UTF-8", &["--ascii"]), plain);
    // What programs read is the same everywhere.
    let svg = |locale| run(locale, &["--format=svg"]);
    assert_eq!(svg("C"), svg("C.UTF-8"));
}

/// Tables of a large node fit a terminal of 80 columns, and nothing is lost by that.
#[test]
fn tables_fit_eighty_columns() {
    let odd = "0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34,36,38,40,42,44,46,48,50,64-99";
    let odd = format!("--cpus={odd}");
    for (machine, options) in [
        (
            "pack:2 core:64 pu:1",
            &["-n3", "-c40", "--cpu-bind=cores"][..],
        ),
        (
            "pack:2 core:32 pu:2",
            &["-n16", "-c8", "--cpu-bind=threads", "-m", "block:fcyclic"],
        ),
        (
            "pack:2 numa:4 core:8 pu:2",
            &["-N2", "-n8", "-c8", "--cpu-bind=cores", "--mem-bind=local"],
        ),
        (
            "pack:2 core:64 pu:2",
            &["-n2", "-O", "--cpu-bind=sockets", &odd],
        ),
        (
            "pack:2 core:64 pu:2",
            &["-n8", "--exclusive", "--binding=env:linear:6"],
        ),
    ] {
        let machine = format!("--machine={machine}");
        let done = berth(&[&["plan", &machine, "--masks"][..], options].concat());
        let text = String::from_utf8(done.stdout).unwrap();
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= 80, "{machine} {options:?}: {widest}\n{text}");
        let wide = berth(&[&["plan", &machine, "--masks", "--width=1000"][..], options].concat());
        let letters = |bytes: &[u8]| {
            let mut all: Vec<u8> = bytes.to_vec();
            all.retain(|byte| !byte.is_ascii_whitespace());
            all.sort_unstable();
            all
        };
        assert_eq!(
            letters(text.as_bytes()),
            letters(&wide.stdout),
            "{machine} {options:?}"
        );
        let topo = String::from_utf8(berth(&["topo", &machine]).stdout).unwrap();
        assert!(topo.lines().all(|line| line.len() <= 80), "{topo}");
    }
}

/// The machine's boxes never pass the width asked for, if a core fits in it at all.
#[test]
fn pictures_fit_their_width() {
    for machine in [
        "pack:2 core:64 pu:2",
        "pack:4 core:2 pu:1",
        "pack:1 core:12 pu:8",
        "pack:2 numa:4 core:3 pu:2",
    ] {
        for width in [60, 80, 120, 200] {
            let width = width.to_string();
            let done = berth(&[
                "topo",
                "--machine",
                machine,
                "--format=tree",
                "--width",
                &width,
            ]);
            let text = String::from_utf8(done.stdout).unwrap();
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(
                widest <= width.parse::<usize>().unwrap(),
                "{machine} at {width}:\n{text}"
            );
        }
    }
}

#[test]
fn short_help_fits_a_screen_and_has_examples() {
    for command in [
        "plan",
        "tune",
        "topo",
        "status",
        "check",
        "report",
        "env",
        "discover",
        "completions",
    ] {
        let help = String::from_utf8(berth(&[command, "-h"]).stdout).unwrap();
        let lines = help.lines().count();
        assert!(lines <= 50, "{command} -h has {lines} lines:\n{help}");
        assert!(help.contains("Examples:"), "{command}");
        let widest = help.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(
            widest <= 100,
            "{command} -h is {widest} columns wide:\n{help}"
        );
    }
}

#[test]
fn every_shell_has_completions() {
    for shell in ["bash", "zsh", "fish"] {
        let done = berth(&["completions", shell]);
        let text = String::from_utf8(done.stdout).unwrap();
        assert!(
            text.contains("cpu-bind") && text.contains("rankfile"),
            "{shell}"
        );
    }
}

/// An explanation never gets into what a program reads.
#[test]
fn explanations_stay_out_of_files() {
    for format in ["svg", "masks", "cpus", "rankfile"] {
        let plan = [
            "plan",
            "--machine",
            "pu:2",
            "-n2",
            "--cpu-bind=threads",
            "--format",
            format,
        ];
        let plain = berth(&plan);
        let explained = berth(&[&plan[..], &["--explain"]].concat());
        assert_eq!(explained.stdout, plain.stdout, "{format}");
        let stderr = String::from_utf8_lossy(&explained.stderr).into_owned();
        assert!(
            stderr.contains("why         tasks are bound to threads"),
            "{format}: {stderr}"
        );
    }
}

/// CPUs= of slurm.conf as cores: a task gets one thread of each.
#[test]
fn cpus_counted_as_cores() {
    let plan = [
        "plan",
        "--machine",
        "core:2 pu:2",
        "-n2",
        "-c1",
        "--cpu-bind=threads",
        "--format=cpus",
    ];
    let cpus =
        |more: &[&str]| String::from_utf8(berth(&[&plan[..], more].concat()).stdout).unwrap();
    assert_eq!(cpus(&["-m", "block:block"]), "0\n1\n");
    assert_eq!(cpus(&["-m", "block:block", "--config-cpus=4"]), "0\n1\n");
    assert_eq!(cpus(&["-m", "block:block", "--config-cpus=2"]), "0\n2\n");
    let odd = berth(&[&plan[..], &["--config-cpus=3"]].concat());
    assert_eq!(odd.status.code(), Some(1));
}

/// The program of a report goes on and gives its exit code, even if nobody can read the report.
#[test]
fn a_report_never_ends_its_program() {
    let marker = tempfile::NamedTempFile::new().unwrap();
    let line = format!("sleep 0.6; echo done > {}; exit 7", marker.path().display());
    let mut child = Command::new(env!("CARGO_BIN_EXE_berth"))
        .args(["report", "--after", "0.1", "--", "sh", "-c", &line])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(7));
    assert_eq!(std::fs::read(marker.path()).unwrap(), b"done\n");
}
