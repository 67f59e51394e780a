//! Random lines on twenty machines, and what the command answers to each in an empty environment.

use std::path::PathBuf;
use std::process::Command;

use serde::Serialize;

use crate::random::Random;
use crate::random::options::OPTIONS;

/// Known machines, descriptions, and files of hwloc's XML.
const MACHINES: [&str; 20] = [
    "lumi-g",
    "lumi-c",
    "archer2",
    "frontier",
    "juwels-booster",
    "leonardo-booster",
    "marenostrum5",
    "2x64-smt2",
    "pack:2 core:4 pu:2",
    "pack:2 numa:2 l3:2 core:4 pu:2",
    "pack:1 core:6 pu:1",
    "pack:4 core:2 pu:4",
    "pack:2 core:16",
    "pack:8 numa:1 core:8 pu:2",
    "pack:2 [numa] l3:4 core:8 pu:2",
    "coral-lassen.xml",
    "cts1-pascal.xml",
    "eas-tioga.xml",
    "epyc-corona-p2.xml",
    "g4dnmetal.xml",
];

/// Options beside those of every random line.
const MORE: &[&str] = &[
    "-n64",
    "-c7",
    "-N4",
    "--cpu-bind=nothing",
    "--gpus-per-task=1",
    "--near=gpu",
    "--job-name='a \"b\" <c>'",
];

/// What stands before a line.
const BEFORE: &[&str] = &[
    "",
    "",
    "",
    "OMP_NUM_THREADS=4 ",
    "SLURM_HINT=nomultithread ",
];

/// Rules of the site, as options beside the line.
const RULES: &[&str] = &[
    "--site=exclusive",
    "--compat=affinity",
    "--slurm=24.11",
    "--slurm=22.05",
    "--select=CR_Socket",
    "--autobind=cores",
    "--cores=all",
    "--explain",
];

/// A request and the command's answer.
#[derive(Serialize)]
pub struct Case {
    /// The machine's place in the list.
    pub machine: usize,
    pub line: String,
    pub options: Vec<String>,
    pub code: i32,
    pub output: String,
    pub errors: String,
}

/// A machine as the page gets it.
#[derive(Serialize)]
pub struct Machine {
    pub name: &'static str,
    pub text: String,
}

fn files() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../tests/machines"]
        .iter()
        .collect()
}

/// Every machine with its text.
pub fn machines() -> Vec<Machine> {
    let text = |name: &str| match name.ends_with(".xml") {
        true => std::fs::read_to_string(files().join(name)).unwrap(),
        false => name.into(),
    };
    let one = |name| Machine {
        name,
        text: text(name),
    };
    MACHINES.into_iter().map(one).collect()
}

/// The command in an empty environment, beside the files.
pub fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("LC_ALL", "C.UTF-8")
        .current_dir(files());
    command
}

/// Makes `count` cases, each with what the command says of it.
pub fn cases(program: &str, seed: u64, count: usize) -> Vec<Case> {
    let mut random = Random(seed);
    (0..count)
        .map(|number| case(program, number % MACHINES.len(), &mut random))
        .collect()
}

fn case(program: &str, machine: usize, random: &mut Random) -> Case {
    let count = random.below(5);
    let options = [OPTIONS, MORE].concat();
    let words: Vec<_> = (0..count).map(|_| *random.one_of(&options)).collect();
    let line = format!("{}srun {} ./app", random.one_of(BEFORE), words.join(" "));
    let count = random.below(3);
    let options: Vec<_> = (0..count)
        .map(|_| random.one_of(RULES).to_string())
        .collect();
    let done = self::command(program)
        .args(["plan", "--machine", MACHINES[machine]])
        .args(&options)
        .args(["--format=json", &line])
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Case {
        machine,
        line,
        options,
        code: done.status.code().unwrap(),
        output: text(done.stdout),
        errors: text(done.stderr),
    }
}
