//! Facts about clusters: each file has the settings of a cluster, requests, and below each what is seen. A line begins
//! with a word:
//!
//! | line | meaning |
//! |---|---|
//! | `# TEXT` | a comment |
//! | `needs NAME` | what a machine must have for the file: `two-cpus`, `memory-policies`, `cgroup-cpusets`, `open-mpi`, a Slurm `before-24.11`, or `run WORDS`: these words end well |
//! | `let NAME = TEXT` | a text, which `@NAME` stands for below |
//! | `file NAME` | a file in the folder FOLDER; its lines follow, each behind `\|` |
//! | `compiled NAME OPTIONS` | a program in FOLDER, or a library `NAME.so`, of the C text in `tests/c/NAME.c` |
//! | `cluster OPTIONS` | a cluster of its own with these options of `ci/cluster up`; below two such lines the facts are about both |
//! | `notes any` | below it there may be other notes of berth's than those that the facts name, until a line `notes` |
//! | `use WORDS` | the words before those of each request below, or around them, where a `…` stands; below two such lines each request is made with both |
//! | `$ WORDS` | a request, in the words of a shell; variables may stand in front |
//! | `& WORDS` | a program that runs beside the requests below it, until the facts about its cluster end |
//! | `< LINE` | a line of the script for `sbatch`, whose output is then the job's |
//! | `= TEXT`, or `=> TEXT` behind a request | stdout as a whole, its lines with a blank between them |
//! | `out TEXT`, `err TEXT` | stdout has this text, stderr has it |
//! | `line TEXT` | stdout or stderr has a line that is this text |
//! | `once TEXT`, `no TEXT` | stdout and stderr have this text once, or never |
//! | `! TEXT` | one of berth's notes on stderr, in their order; there are no others |
//! | `quiet` | stderr has nothing, but for srun's own lines about waiting |
//! | `refused TEXT` | the exit code is not 0, nothing is on stdout, and stderr has this text |
//! | `exit CODE` | the exit code, if it is not 0 |
//! | `log TEXT`, `no-log TEXT` | the slurmds write one line with this text meanwhile, or none |
//! | `wait` | the request is made again until it has these answers |
//!
//! A `…` in an answer stands for any text. Lines on stdout that begin with `TASK: ` lose that and are in the tasks' order.
//! `@cpus` behind `srun` shows each task's CPUs as the kernel has them; `@program` is the program that reads the facts,
//! which may be the tasks' too, and `@berth` is the built command's path. CLUSTER is the cluster's folder, and TESTS the
//! folder of the tests. `berth` is the built command, and as a request it has this cluster's state. After its facts a cluster is idle again.

mod case;
mod outcome;
#[path = "../../../plugin/discover/tests/common/pattern.rs"]
mod pattern;
mod text;

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::builder::Builder;
use crate::cluster::Cluster;
use crate::compiler::compile;
use crate::select_truth::release;
use crate::under_test::{cgroup_cpusets, command, memory_policies, program, skip, two_cpus};
use case::Case;
use text::Step;

/// The task's own words on its CPUs, read by the shell itself: a program would be one more thing to trust.
const CPUS: &str = "/bin/sh -c 'while read -r key cpus; do case $key in Cpus_allowed_list:) \
                    echo \"$SLURM_PROCID: $cpus\";; esac; done < /proc/self/status'";

/// Requests about the same clusters.
#[derive(Default)]
struct Facts {
    clusters: Vec<String>,
    cases: Vec<Case>,
}

/// Fails with every answer of a file that is another one. Returns why a file's facts are about no machine like this one.
///
/// # Panics
/// If an answer is another one, or if the file cannot be read.
pub fn hold(file: &Path) -> Option<String> {
    let text =
        std::fs::read_to_string(file).unwrap_or_else(|why| panic!("{}: {why}", file.display()));
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let folder = tempfile::tempdir().expect("a folder for the files");
    let parts = match read(&text, &folder) {
        Ok(parts) => parts,
        Err(need) => return Some(format!("it needs {need}")),
    };
    let mut wrong = Vec::new();
    for part in parts {
        for options in &part.clusters {
            let words = shlex::split(options).expect("options of ci/cluster");
            let cluster = builder(words).up();
            // Elsewhere discovery is in time, and the requests' jobs are numbered from 1.
            if std::env::var_os("BERTH_VM_OUT").is_some() {
                wait_for_machine(&cluster);
            }
            let found = differences(&part.cases, &cluster);
            let found = found.iter();
            wrong.extend(found.map(|text| format!("{name}:{text} with cluster {options}\n")));
            clear(&cluster);
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    None
}

/// A cluster with these options. An example's own words for berth hold.
fn builder(options: Vec<String>) -> Builder {
    let is_example = options.iter().any(|word| word == "--example");
    let builder = match is_example {
        true => Builder::default(),
        false => Builder::default().plugstack(Some("")),
    };
    builder.options(options)
}

/// Waits for the machine where its discovery took long: slurmd went on before its end, and looks for that from a launch
/// on if berth is its task plugin. Of several nodes any may be late.
pub fn wait_for_machine(cluster: &Cluster) {
    let count = |words| cluster.slurmd_log().matches(words).count();
    let late = count("goes on in the background");
    if late > 0 && count("does not list task/berth") == 0 {
        let nodes = cluster.run("sinfo", &["-h", "-o%D"]).expect_ok();
        let nodes = format!("-N{}", nodes.trim());
        cluster.run("srun", &[&nodes, "true"]).expect_ok();
        let is_known = || count("the machine was discovered again") >= late;
        cluster.wait_for("the machine", || is_known().then_some(()));
    }
}

/// Ends what a cluster's requests have left, and waits until it is idle: a refusal has drained no node.
fn clear(cluster: &Cluster) {
    let jobs = cluster.run("squeue", &["-h", "-o%A"]).expect_ok();
    for job in jobs.split_whitespace() {
        cluster.run("scancel", &["--full", job]);
    }
    cluster.wait_idle();
}

/// The answers that are others.
fn differences(cases: &[Case], cluster: &Cluster) -> Vec<String> {
    let (mut beside, mut wrong) = (Vec::new(), Vec::new());
    for case in cases {
        match case.beside(cluster) {
            Some(program) => beside.push(program),
            None => wrong.extend(case.differences(cluster)),
        }
    }
    wrong
}

/// The facts of a text; what they need, where the machine lacks it.
fn read(text: &str, folder: &TempDir) -> Result<Vec<Facts>, String> {
    let tests = env!("CARGO_MANIFEST_DIR");
    let place = folder.path().display().to_string();
    let text = text.replace("FOLDER", &place).replace("TESTS", tests);
    let mut parts: Vec<Facts> = Vec::new();
    let mut notes_are_open = false;
    let program = std::env::current_exe().expect("this program's path");
    let berth = command();
    let named = [
        ("cpus", CPUS),
        ("program", &program.to_string_lossy()),
        ("berth", &berth.to_string_lossy()),
    ];
    for step in text::parse(&text, &["needs", "cluster", "compiled", "notes"], &named) {
        match step {
            Step::Use => {}
            Step::File { name, text } => text::write(&folder.path().join(name), &text),
            Step::Setting { kind, text } if kind == "needs" => {
                if !has(&text) {
                    return Err(text);
                }
            }
            Step::Setting { kind, text } if kind == "compiled" => compile(folder.path(), &text),
            Step::Setting { kind, text } if kind == "notes" => notes_are_open = text == "any",
            Step::Setting { text, .. } => {
                if parts.last().is_none_or(|part| !part.cases.is_empty()) {
                    parts.push(Facts::default());
                }
                let part = parts.last_mut().expect("one was added");
                part.clusters.push(text);
            }
            Step::Request(mut case) => {
                if notes_are_open {
                    case.answer("notes", "any");
                }
                let part = parts
                    .last_mut()
                    .expect("a cluster before the first request");
                part.cases.push(case);
            }
        }
    }
    Ok(parts)
}

/// Whether a program ends well on this machine. If not, the calling test counts as skipped.
fn ends_well(words: &str) -> bool {
    let all = shlex::split(words).expect("a program and its arguments");
    let (name, arguments) = all.split_first().expect("a program");
    let output = Command::new(name).args(arguments).output();
    let is_well = output.is_ok_and(|output| output.status.success());
    if !is_well {
        skip(&format!("needs what this finds: {words}"));
    }
    is_well
}

/// Whether this machine has what a file's facts need. If it has not, the calling test counts as skipped.
fn has(name: &str) -> bool {
    match name {
        "two-cpus" => two_cpus(),
        "memory-policies" => memory_policies(),
        "cgroup-cpusets" => cgroup_cpusets(),
        "open-mpi" => program("mpirun", "Open MPI's mpirun (openmpi-bin)"),
        _ if name.starts_with("run ") => ends_well(&name["run ".len()..]),
        _ if name.starts_with("before-") => is_before(&name["before-".len()..]),
        _ => panic!("needs {name}: this is not known"),
    }
}

/// Whether this machine's Slurm is an earlier release. If it is not, the calling test counts as skipped.
fn is_before(later: &str) -> bool {
    let is_before = release() < later.parse().expect("a release of Slurm");
    if !is_before {
        skip(&format!("needs a Slurm before {later}"));
    }
    is_before
}
