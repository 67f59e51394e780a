//! Every command line that stands on a page or in `--help` can be typed: berth's own lines are run
//! and end as the page shows; the options of srun, sbatch and salloc are read, with their values.
//! `tests/tests/page_lines.rs` gives the latter to the real commands.
//!
//! A line that must be refused shows its refusal below it, or an "error" in the next cell. Words in
//! capitals have stand-ins (`PLACEHOLDERS` in `tests/src/page_lines.rs`).

use crate::page_lines;
use crate::run::{Done, berth, command, root};

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::page_lines::{PageLine, of_help, of_pages};
use berth_srun::line::{Line, Trouble};
use berth_srun::options::{Command as SlurmCommand, Lookup, Takes};
use berth_srun::{Release, line, options, reading};
use tempfile::TempDir;

const SUBCOMMANDS: [&str; 11] = [
    "plan",
    "tune",
    "topo",
    "status",
    "check",
    "report",
    "env",
    "doctor",
    "reload",
    "discover",
    "completions",
];

/// A report as `berth report --merge` reads it.
const REPORT: &str = r#"{"format":"berth-report","version":1,"node":"n1","task":0,"local":0,"pid":7,
"cpus":"0","memory":"","memory_allowed":"0","as_planned":true,"sockets":"0","numa_nodes":"0","cores":"0"}"#;

/// The lines of all pages, and of the examples of every subcommand.
fn all_lines() -> Vec<PageLine> {
    let mut found = of_pages(&root());
    for command in SUBCOMMANDS {
        let help = berth(&[command, "--help"], "").stdout;
        let examples = of_help(command, &help);
        assert!(
            !examples.is_empty(),
            "berth {command} --help has no examples"
        );
        found.extend(examples);
    }
    found
}

/// A folder with the files that the pages' lines name.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("report.json"), REPORT.replace('\n', "")).unwrap();
    fs::write(path("job.sh"), "#!/bin/sh\n#SBATCH -n2\nsrun ./app\n").unwrap();
    fs::copy(
        root().join("tests/topologies/sibling-offline.xml"),
        path("node.xml"),
    )
    .unwrap();
    let conf = "NodeName=n[1-2] Sockets=2 CoresPerSocket=4 ThreadsPerCore=2\n\
                PartitionName=all Nodes=ALL Default=YES\n";
    fs::write(path("slurm.conf"), conf).unwrap();
    symlink(root().join("tests"), path("tests")).unwrap();
    for program in ["app", "hybrid", "small"] {
        fs::write(path(program), "#!/bin/sh\n").unwrap();
        fs::set_permissions(path(program), fs::Permissions::from_mode(0o755)).unwrap();
    }
    folder
}

/// Runs a line of berth's. What is wrong with its end, if anything.
fn run(line: &PageLine, words: &[String], folder: &Path) -> Option<String> {
    let mut words = words.to_vec();
    // A name of a subcommand, what never ends, and what needs a job are only asked for their help.
    let needs_job = words.first().is_some_and(|word| word == "env");
    // Without a job the lines of berth tune are planned.
    let is_tuned = words[0] == "tune" && words.iter().any(|word| word.contains("srun"));
    if is_tuned {
        words.insert(1, "--dry-run".into());
    }
    let only_asked = words[0] == "tune" && !is_tuned;
    if only_asked || words.len() == 1 || needs_job || words.iter().any(|word| word == "--watch") {
        words.push("--help".into());
    }
    let input = fs::File::open(folder.join("report.json")).unwrap();
    let mut berth = command();
    berth.args(&words).current_dir(folder).stdin(input);
    // "This machine" of the pages is one with room for their lines.
    berth.env("HWLOC_SYNTHETIC", "pack:2 core:4 pu:2");
    // Nor is it a node of a cluster that runs here. For a file that is missing, Slurm's commands wait a minute.
    berth.env("SLURM_CONF", "/dev/null");
    let Done { code, stderr, .. } = Done::of(berth.output().unwrap());
    let as_shown = match (words[0].as_str(), line.is_shown_refused()) {
        // They judge this machine or a line; only a wrong option is the page's fault.
        ("status" | "doctor" | "check", _) => matches!(code, 0 | 1),
        (_, true) => matches!(code, 1 | 2),
        (_, false) => code == 0,
    };
    (!as_shown).then(|| {
        let first = stderr.lines().next().unwrap_or_default();
        format!(
            "{}: berth {}: {code:?} {first}",
            line.place,
            words.join(" ")
        )
    })
}

/// The command whose options a line has.
fn command_of(line: &PageLine) -> SlurmCommand {
    match line.command.as_str() {
        "sbatch" | "#SBATCH" => SlurmCommand::Sbatch,
        "salloc" => SlurmCommand::Salloc,
        _ => SlurmCommand::Srun,
    }
}

/// An option without its value is only named.
fn is_name(line: &PageLine) -> bool {
    let [word] = line.words.as_slice() else {
        return false;
    };
    let name = word.trim_start_matches('-');
    let row = match (word.starts_with("--"), name.chars().next()) {
        (true, _) => match options::long(command_of(line), None, name) {
            Lookup::Option(row) => Some(row),
            _ => None,
        },
        (false, Some(letter)) if name.len() == 1 => options::short(command_of(line), None, letter),
        _ => None,
    };
    row.is_some_and(|row| row.takes == Takes::Value)
}

/// What the reader says against a line of Slurm's commands.
fn trouble(line: &PageLine, read: &Line, release: Release) -> Option<String> {
    let is_wrong = |trouble: &Trouble| *trouble != Trouble::Unknown;
    let wrong = read.options.iter().find(|given| given.trouble.is_some());
    if let Some(given) = wrong {
        let kind = given.trouble.as_ref().filter(|kind| is_wrong(kind));
        return Some(format!("--{}: {kind:?}", given.name));
    }
    let why = reading::read(&read.options, release).err()?;
    Some(why.to_string()).filter(|_| command_of(line) == SlurmCommand::Srun)
}

/// Reads a line of Slurm's commands twice: as the release of the tests' clusters does, and as the newest does.
fn read(line: &PageLine) -> Vec<String> {
    let read = |release| {
        let read = line::read(&line.words, command_of(line), Some(release));
        trouble(line, &read, release)
    };
    let refused = [Release::V22_05, Release::NEWEST].map(read);
    match (line.is_shown_refused(), refused) {
        // What the page shows as refused may be refused by berth's plugin alone.
        (true, _) => Vec::new(),
        (false, found) => {
            let found = found.into_iter().flatten();
            found
                .map(|why| format!("{}: {}: {why}", line.place, line.text()))
                .collect()
        }
    }
}

#[test]
fn every_line_of_berth_ends_as_its_page_shows() {
    let folder = folder();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for line in all_lines() {
        let mut words = line.words.clone();
        if line.command != "berth" {
            // srun … berth report
            let read = line::read(&line.words, command_of(&line), None);
            words = match read.program.split_first() {
                Some((program, rest)) if program == "berth" => rest.to_vec(),
                _ => continue,
            };
        }
        // The service would serve this host until somebody ends it.
        let is_service = words.first().is_some_and(|word| word == "node");
        if is_service && !words.iter().any(|word| word == "--release") {
            continue;
        }
        count += 1;
        wrong.extend(run(&line, &words, folder.path()));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 100, "only {count} lines of berth were found");
}

#[test]
fn every_line_of_slurms_commands_is_one() {
    let lines = all_lines()
        .into_iter()
        .filter(|line| line.command != "berth");
    let lines: Vec<_> = lines.filter(|line| !is_name(line)).collect();
    let wrong: Vec<_> = lines.iter().flat_map(read).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(lines.len() > 50, "only {} lines were found", lines.len());
    // A line with a mistake would be found.
    for bad in [
        "srun --ntask-per-node=2 ./app",
        "srun -n2 --cpu-bind=map_cpu:0-3 ./app",
    ] {
        let bad = page_lines::of_markdown("bad.md", &format!("`{bad}`"));
        assert_eq!(bad.iter().flat_map(read).count(), 2, "{bad:?}");
    }
}

#[test]
fn lines_are_found_wherever_they_stand() {
    let page = "Try `berth plan -n2` or `srun -n N ./app`.\n\n\
        | mpirun | srun |\n|---|---|\n| `--bind-to core` | `-m cyclic`, or `-n=4` |\n| x | an error: `-n` |\n\n\
        | log line | do |\n|---|---|\n| `berth binds nothing` | `berth topo -a` |\n\n\
        ```\n$ berth check \"srun -n2 ./a\" | less\nsrun: a line of output\n  instead  srun -n3 ./a\n```\n\
        ```\nfor i in 1 2; do srun --exact \"a;b\" & done\n```\n";
    let found = page_lines::of_markdown("p.md", page);
    let texts: Vec<_> = found
        .iter()
        .map(|line| format!("{} {}", line.place, line.text()))
        .collect();
    let expected = [
        "p.md:1 berth plan -n2",
        "p.md:1 srun -n 2 ./app",
        "p.md:5 options -m cyclic",
        "p.md:5 options '-n=4'",
        "p.md:6 options -n",
        "p.md:10 berth topo -a",
        "p.md:13 berth check 'srun -n2 ./a'",
        "p.md:15 srun -n3 ./a",
        "p.md:18 srun --exact 'a;b'",
    ];
    assert_eq!(texts, expected);
    assert!(found[4].is_called_wrong && !found[3].is_called_wrong);
}

/// What programs read is the same everywhere.
#[test]
fn json_has_the_same_letters_in_every_locale() {
    let check = |locale| {
        let machine = "--machine=pack:2 core:2 pu:1";
        let line = "srun -n4 --binding=linear:1:1,1 ./app";
        let mut check = command();
        check.args(["check", "--format=json", machine, line]);
        Done::of(check.env("LC_ALL", locale).output().unwrap()).stdout
    };
    assert!(check("C").contains('×'));
    assert_eq!(check("C"), check("C.UTF-8"));
}
