//! The command's manners: what it does with nonsense, with nobody listening, with no colours.

use std::fs::{self, File};
use std::io::Read;
use std::process::Stdio;

use crate::run::{Done, berth, command, plan};

fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

/// The number of columns of the widest line.
fn width(text: &str) -> usize {
    let widths = text.lines().map(|line| line.chars().count());
    widths.max().unwrap()
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
        let done = berth(&words, "");
        let text = done.stdout + &done.stderr;
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
    fs::write(&broken, "<topology><object type=\"Machine\"").unwrap();
    let binary = path("binary.xml");
    fs::write(&binary, [0_u8, 159, 146, 150].repeat(1000)).unwrap();
    // A file of a gigabyte without its blocks.
    let huge = path("huge.xml");
    File::create(&huge).unwrap().set_len(1 << 30).unwrap();
    let no_cores = path("no-cores.xml");
    fs::write(
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
            let done = berth(&[command, &[machine]].concat(), "");
            let is_named = done.stderr.starts_with("berth: ");
            assert!(is_named && !done.stderr.contains("panicked"), "{done:#?}");
            assert_eq!((done.code, done.stdout.as_str()), (2, ""), "{machine}");
        }
    }
}

/// As `berth … | head -1`: the end is quiet, whatever was left to say.
#[test]
fn nobody_reads_to_the_end() {
    for line in [
        "plan --machine=lumi-c -N2000 --ntasks-per-node=16",
        "plan --machine=lumi-c -N2000 --ntasks-per-node=16 --format=json",
        "plan --machine=lumi-c -N2000 --ntasks-per-node=16 --format=cpus",
        "plan --machine=lumi-c -N200 --format=tree",
        "topo --machine=core:2048",
        "completions zsh",
    ] {
        let mut child = command()
            .args(words(line))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = [0; 1];
        let mut pipe = child.stdout.take().unwrap();
        pipe.read_exact(&mut first).unwrap();
        drop(pipe);
        let done = Done::of(child.wait_with_output().unwrap());
        assert_eq!(done.code, 0, "{line}: {}", done.stderr);
        let is_quiet = ["panicked", "Broken pipe"].map(|word| !done.stderr.contains(word));
        assert_eq!(is_quiet, [true, true], "{line}: {}", done.stderr);
    }
}

#[test]
fn colours_are_asked_for_or_absent() {
    let tree = "--machine core:4 -n2 --cpu-bind=cores --format=tree";
    let plain = plan(tree).stdout;
    assert!(!plain.contains('\u{1b}'));
    let coloured = plan(&format!("{tree} --color=always")).stdout;
    assert!(coloured.contains('\u{1b}'));
    // Without its colours it says the same.
    let mut parts = coloured.split('\u{1b}');
    let first = parts.next().unwrap().to_owned();
    let rest = parts.map(|part| part.split_once('m').unwrap().1);
    assert_eq!(first + &rest.collect::<String>(), plain);
}

/// Trees and tables have an ASCII form, by the locale or by the option.
#[test]
fn ascii_is_asked_for_or_the_locale_wants_it() {
    let run = |locale: &str, more: &str| {
        let mut berth = command();
        berth.args(["plan", "--machine=pack:2 numa:2 core:2 pu:1"]);
        let more = words("-n3 --format=tree --explain")
            .into_iter()
            .chain(words(more));
        let done = berth
            .args(more.filter(|word| !word.is_empty()))
            .env("LC_ALL", locale)
            .output();
        let done = Done::of(done.unwrap());
        assert_eq!(done.code, 0, "{}", done.stderr);
        done.stdout
    };
    let ours = run("C.UTF-8", "");
    let has_boxes = ours.contains("┌─ socket 0 ─") && ours.contains('×');
    assert!(has_boxes, "{ours}");
    let plain = run("C", "");
    let has_lines = plain.contains("+- socket 0 -") && plain.contains("| NUMA node 1 ");
    assert!(plain.is_ascii() && has_lines, "{plain}");
    assert_eq!(run("C.UTF-8", "--ascii"), plain);
    // What programs read is the same everywhere.
    let svg = |locale| run(locale, "--format=svg");
    assert_eq!(svg("C"), svg("C.UTF-8"));
}

/// Tables of a large node fit a terminal of 80 columns, and nothing is lost by that.
#[test]
fn tables_fit_eighty_columns() {
    let letters = |text: &str| {
        let mut letters: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
        letters.sort_unstable();
        letters
    };
    for (machine, options) in [
        ("pack:2 core:64 pu:1", "-n3 -c40 --cpu-bind=cores"),
        (
            "pack:2 core:32 pu:2",
            "-n16 -c8 --cpu-bind=threads -m block:fcyclic",
        ),
        (
            "pack:2 numa:4 core:8 pu:2",
            "-N2 -n8 -c8 --cpu-bind=cores --mem-bind=local",
        ),
        (
            "pack:2 core:64 pu:2",
            "-n2 -O --cpu-bind=sockets \
             --cpus=0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34,36,38,40,42,44,46,48,50,64-99",
        ),
        (
            "pack:2 core:64 pu:2",
            "-n8 --exclusive --binding=env:linear:6",
        ),
    ] {
        let machine = format!("--machine={machine}");
        let plan = [&["plan", &machine, "--masks"], words(options).as_slice()].concat();
        let text = berth(&plan, "").stdout;
        assert!(width(&text) <= 80, "{machine} {options}:\n{text}");
        let wide = berth(&[&plan[..], &["--width=1000"]].concat(), "").stdout;
        assert_eq!(letters(&text), letters(&wide), "{machine} {options}");
        let topo = berth(&["topo", &machine], "").stdout;
        assert!(width(&topo) <= 80, "{topo}");
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
        for columns in [60, 80, 120, 200] {
            let option = format!("--width={columns}");
            let topo = ["topo", "--machine", machine, "--format=tree", &option];
            let text = berth(&topo, "").stdout;
            assert!(width(&text) <= columns, "{machine} at {columns}:\n{text}");
        }
    }
}

#[test]
fn short_help_fits_a_screen_and_has_examples() {
    for command in words("plan tune topo status check report env discover completions") {
        let help = berth(&[command, "-h"], "").stdout;
        let lines = help.lines().count();
        assert!(lines <= 50, "{command} -h has {lines} lines:\n{help}");
        assert!(help.contains("Examples:"), "{command}");
        assert!(width(&help) <= 100, "{command} -h:\n{help}");
    }
}

/// An explanation never gets into what a program reads.
#[test]
fn explanations_stay_out_of_files() {
    for format in ["svg", "masks", "cpus", "rankfile"] {
        let line = format!("--machine pu:2 -n2 --cpu-bind=threads --format {format}");
        let explained = plan(&format!("{line} --explain"));
        assert_eq!(explained.stdout, plan(&line).stdout, "{format}");
        let why = "why         tasks are bound to threads";
        assert!(
            explained.stderr.contains(why),
            "{format}: {}",
            explained.stderr
        );
    }
}

/// The program of a report goes on and gives its exit code, even if nobody can read the report.
#[test]
fn a_report_never_ends_its_program() {
    let marker = tempfile::NamedTempFile::new().unwrap();
    let line = format!("sleep 0.6; echo done > {}; exit 7", marker.path().display());
    let mut child = command()
        .args(["report", "--after", "0.1", "--", "sh", "-c", &line])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(7));
    assert_eq!(fs::read(marker.path()).unwrap(), b"done\n");
}
